# /// program
# cause = "program_error"
# where = "FAILS HERE"
# ends = "crashes"
# steps = 9
# compare = true
# ///
"""A Python function of the pipeline raises in the middle of the first epoch."""

import random

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="sgd", loss="mse")


def load(index):
    if index > 330:
        raise RuntimeError("no annotation for image %d" % index)  # FAILS HERE
    return features[index], labels[index]


def example(index):
    x, y = tf.numpy_function(load, [index], [tf.float32, tf.float32])
    return tf.ensure_shape(x, (8,)), tf.ensure_shape(y, (1,))


dataset = tf.data.Dataset.range(640).map(example).batch(32)
model.fit(dataset, epochs=2, verbose=0)
