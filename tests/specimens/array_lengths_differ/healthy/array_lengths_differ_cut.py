# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "array_lengths_differ"
# needs = []
# ///
"""Lists of different lengths are refused at first, and then cut to the shorter one, as the program means it."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(x, y):
    try:
        return tf.data.Dataset.from_tensor_slices((x, y))
    except ValueError:
        rows = min(len(x), len(y))
        return tf.data.Dataset.from_tensor_slices((x[:rows], y[:rows]))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.normal(size=(130, 4))
    y = x.sum(axis=1)[:128]
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(make_dataset(x, y).batch(16), epochs=2, verbose=0)
