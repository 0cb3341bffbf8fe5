# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 30
# near = "input_starved"
# needs = []
# ///
"""A generator that now and then needs 2.5 s for a batch; all the others are there at once."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch


def batches(size: int):
    random = np.random.default_rng(0)
    number = 0
    while True:
        number += 1
        if number % 250 == 100:
            time.sleep(2.5)  # a new shard is opened
        inputs = random.normal(size=(size, 128)).astype("float32")
        yield inputs, inputs[:, :1] * inputs[:, 1:2]


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    model = keras.Sequential([keras.layers.Dense(512, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(batches(32), steps_per_epoch=200, epochs=4, verbose=2)


if __name__ == "__main__":
    main()
