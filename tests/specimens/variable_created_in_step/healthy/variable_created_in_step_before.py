# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 90
# near = "variable_created_in_step"
# needs = []
# ///
"""The block makes its layers in __init__ and its variable in build."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf


class Block(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = keras.layers.Dense(units, activation="relu")

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return self.dense(x) + x * self.scale


if __name__ == "__main__":
    model = keras.Sequential([keras.Input((4,)), Block(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.ones((32, 4)), tf.ones((32, 1)), verbose=0)
