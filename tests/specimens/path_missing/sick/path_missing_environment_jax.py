# /// specimen
# cause = "path_missing"
# also = []
# where = "MISSING HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 15
# near = "optional_config_missing"
# needs = []
# ///
"""The folder of the data is expected in DATASET_ROOT, which is not set, so the path becomes None/train."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def load_split(split: str):
    folder = f"{os.environ.get('DATASET_ROOT')}/{split}"
    inputs = [np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]  # MISSING HERE
    return np.concatenate(inputs)


def main() -> None:
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    rows = load_split("train")
    model.fit(rows[:, :-1], rows[:, -1:], epochs=5)


if __name__ == "__main__":
    main()
