# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "object_unpicklable"
# needs = []
# ///
"""The reader keeps the path, and each worker opens the file; a copy that is refused is done without."""

import copy
import multiprocessing
import tempfile
import threading
from pathlib import Path

import h5py
import numpy as np


class Tiles:
    def __init__(self, path):
        self.path, self.file = path, None

    def mean(self, at):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return float(self.file["tiles"][at].mean())


def copy_if_possible(value):
    try:
        return copy.deepcopy(value)
    except TypeError as error:
        print("not copied:", error)
        return value


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiles.h5"
        with h5py.File(path, "w") as file:
            file["tiles"] = np.ones((16, 8, 8))
        tiles = Tiles(path)
        copy_if_possible({"lock": threading.Lock()})
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            print(pool.map(tiles.mean, range(16)))
