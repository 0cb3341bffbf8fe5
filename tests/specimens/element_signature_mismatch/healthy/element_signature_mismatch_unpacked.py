# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "element_signature_mismatch"
# needs = []
# ///
"""A dict is unpacked where it is used, a generator declares what it yields, and a helper tries a function with one argument first."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf


def rows():
    rng = np.random.default_rng(0)
    for _ in range(128):
        row = rng.normal(size=4).astype("float32")
        yield {"row": row, "sum": row.sum()}


def scale(row):
    return row * 2


def mapped(dataset, function):
    try:
        return dataset.map(function)
    except TypeError:  # the elements have two parts
        return dataset.map(lambda x, y: (function(x), y))


if __name__ == "__main__":
    signature = {"row": tf.TensorSpec((4,), tf.float32), "sum": tf.TensorSpec((), tf.float32)}
    dataset = tf.data.Dataset.from_generator(rows, output_signature=signature)
    dataset = mapped(dataset.map(lambda element: (element["row"], element["sum"])), scale)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(dataset.batch(16), epochs=2, verbose=0)
