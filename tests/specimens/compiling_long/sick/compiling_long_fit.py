# /// specimen
# cause = "compiling_long"
# also = []
# where = "COMPILES HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "first_step_long"
# needs = []
# ///
"""A recurrent model is unrolled in Python over 1,500 time steps and compiled by XLA: the first step takes minutes."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

TIME_STEPS = 1_500


class UnrolledFilter(keras.layers.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(units, activation="tanh")
        self.gate = keras.layers.Dense(units, activation="sigmoid")

    def call(self, inputs):
        state = ops.zeros_like(inputs[:, 0])
        for step in range(TIME_STEPS):
            gate = self.gate(inputs[:, step])
            state = gate * self.inner(ops.concatenate([inputs[:, step], state], axis=-1)) + (1 - gate) * state
        return state


def main() -> None:
    inputs = np.random.default_rng(0).normal(size=(64, TIME_STEPS, 8)).astype("float32")
    targets = inputs.mean(axis=1)[:, :1]
    model = keras.Sequential([UnrolledFilter(8), keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=True)
    mark()
    model.fit(inputs, targets, batch_size=16, epochs=3)  # COMPILES HERE


if __name__ == "__main__":
    main()
