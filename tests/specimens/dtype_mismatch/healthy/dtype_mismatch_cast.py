# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "dtype_mismatch"
# needs = []
# ///
"""float64 and float32 meet, and are cast; an operation that does not take integers is tried and done without."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf


def loss(y, predicted):
    return tf.reduce_mean(tf.square(tf.cast(y, predicted.dtype) - predicted))


def mean(values):
    try:
        return tf.sqrt(values)
    except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError, TypeError):
        return tf.sqrt(tf.cast(values, tf.float32))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 4))
    mean(tf.constant([1, 4, 9]))
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", loss)
    model.fit(x, x.sum(axis=1, keepdims=True), epochs=2, verbose=0)
