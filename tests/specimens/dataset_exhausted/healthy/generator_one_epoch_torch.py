# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 30
# near = "dataset_exhausted"
# needs = []
# ///
"""A generator that goes once through its rows, for one epoch without steps_per_epoch, as it should."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch


def batches(count: int, size: int):
    random = np.random.default_rng(3)
    for _ in range(count):
        inputs = random.normal(size=(size, 256)).astype("float32")
        yield inputs, inputs[:, :1] - inputs[:, 1:2]


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    model = keras.Sequential([keras.layers.Dense(512, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(batches(1_500, 32), epochs=1, verbose=2)


if __name__ == "__main__":
    main()
