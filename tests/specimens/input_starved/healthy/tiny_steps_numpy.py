# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "input_starved"
# needs = []
# ///
"""Steps of a millisecond over a NumPy array: most of the time is Python, and that is as it should be."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def main() -> None:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(40_000, 12)).astype("float32")
    targets = inputs[:, :1] + 0.1 * random.normal(size=(40_000, 1)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(inputs, targets, batch_size=8, epochs=4)


if __name__ == "__main__":
    main()
