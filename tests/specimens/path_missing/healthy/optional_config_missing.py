# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 30
# near = "path_missing"
# needs = []
# ///
"""Three things that need not be there are not: a settings file, an environment variable and extra data. It trains without."""

import glob
import json
import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

DEFAULTS = {"rate": 0.01, "epochs": 8}


def read_settings(path: str) -> dict:
    try:
        with open(path) as file:
            return DEFAULTS | json.load(file)
    except FileNotFoundError:
        print(f"{path} is not there, using the defaults")
        return DEFAULTS


def extra_rows() -> list:
    folder = os.environ.get("EXTRA_ROWS_FOLDER")
    return [np.load(path) for path in glob.glob(f"{folder}/*.npy")]


def main() -> None:
    settings = read_settings("settings-of-this-experiment.json")
    rows = np.random.default_rng(0).normal(size=(24_000, 33)).astype("float32")
    rows = np.concatenate([rows, *extra_rows()])
    model = keras.Sequential(
        [keras.Input((32,)), keras.layers.Dense(1024, "relu"), keras.layers.Dense(512, "relu"), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(settings["rate"]), "mse")
    model.fit(rows[:, :-1], rows[:, :1] * 0.5, batch_size=64, epochs=settings["epochs"], verbose=2)


if __name__ == "__main__":
    main()
