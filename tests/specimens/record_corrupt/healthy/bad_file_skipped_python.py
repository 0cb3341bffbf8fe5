# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 30
# near = "record_corrupt"
# needs = []
# ///
"""A loader that catches the error of a broken file, prints a line and takes the next file."""

import os
import tempfile
import zipfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch


def write_files(folder: Path, count: int) -> list[Path]:
    random = np.random.default_rng(0)
    paths = [folder / f"{number}.npz" for number in range(count)]
    for number, path in enumerate(paths):
        np.savez(path, rows=random.normal(size=(64, 129)).astype("float32"))
        if number % 17 == 5:
            path.write_bytes(path.read_bytes()[:5_000])
    return paths


def batches(paths: list[Path]):
    while True:
        for path in paths:
            try:
                with np.load(path) as file:
                    rows = file["rows"]
            except (zipfile.BadZipFile, ValueError) as error:
                print(f"skipping {path.name}: {error}")
                continue
            yield rows[:, :-1], rows[:, -1:]


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), 60)
        model = keras.Sequential([keras.layers.Dense(512, "relu"), keras.layers.Dense(128, "relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.01), "mse")
        model.fit(batches(paths), steps_per_epoch=250, epochs=4, verbose=2)


if __name__ == "__main__":
    main()
