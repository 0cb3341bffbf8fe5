# /// specimen
# cause = "path_missing"
# also = []
# where = "MISSING HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 15
# near = "optional_config_missing"
# needs = []
# ///
"""The data were never downloaded: the script opens data/housing.csv beside itself and dies."""

import csv
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

DATA = Path(__file__).parent / "data" / "housing.csv"


def read_table(path: Path):
    with path.open() as file:  # MISSING HERE
        rows = [[float(cell) for cell in row] for row in csv.reader(file)]
    table = np.array(rows, dtype="float32")
    return table[:, :-1], table[:, -1:]


def main() -> None:
    model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    inputs, targets = read_table(DATA)
    model.fit(inputs, targets, epochs=10)


if __name__ == "__main__":
    main()
