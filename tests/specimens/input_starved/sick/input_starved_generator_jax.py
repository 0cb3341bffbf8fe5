# /// specimen
# cause = "input_starved"
# also = ["storage_slow"]
# where = "STARVED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "one_slow_batch"
# needs = []
# ///
"""A generator waits for a sensor that delivers 40 frames a second, so that each batch of 16 is 0.4 s in coming."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Sensor:
    """A device that delivers its frames at a fixed rate."""

    def __init__(self, frames_per_second: float) -> None:
        self.interval_s = 1 / frames_per_second
        self.random = np.random.default_rng(0)

    def read(self):
        time.sleep(self.interval_s)  # STARVED HERE
        return self.random.normal(size=(32,)).astype("float32")


def batches(sensor: Sensor, size: int):
    while True:
        frames = np.stack([sensor.read() for _ in range(size)])
        yield frames, frames[:, :4].sum(axis=1, keepdims=True)


def main() -> None:
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    mark()
    model.fit(batches(Sensor(40.0), 16), steps_per_epoch=25, epochs=3)


if __name__ == "__main__":
    main()
