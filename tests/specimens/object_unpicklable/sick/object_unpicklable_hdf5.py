# /// specimen
# cause = "object_unpicklable"
# also = []
# where = "KEPT HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "object_unpicklable_path"
# needs = []
# ///
"""A reader keeps an HDF5 file open, and the workers of a pool are given the reader."""

import multiprocessing
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Tiles:
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # KEPT HERE

    def mean(self, at):
        return float(self.file["tiles"][at].mean())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiles.h5"
        with h5py.File(path, "w") as file:
            file["tiles"] = np.ones((16, 8, 8))
        tiles = Tiles(path)
        mark()
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            print(pool.map(tiles.mean, range(16)))
