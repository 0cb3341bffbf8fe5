# /// specimen
# cause = "variable_created_in_step"
# also = []
# where = "MADE HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 90
# near = "variable_created_in_step_before"
# needs = []
# ///
"""A block makes its layer anew in each call, and fit compiles the step."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Block(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def call(self, x):
        return keras.layers.Dense(self.units, activation="relu")(x) + x  # MADE HERE


if __name__ == "__main__":
    model = keras.Sequential([keras.Input((4,)), Block(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    mark()
    model.fit(tf.ones((32, 4)), tf.ones((32, 1)), verbose=0)
