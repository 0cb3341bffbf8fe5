# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 59
# loss = true
# compare = true
# ///
"""The first step takes long, since its data must be made ready first; all others are quick."""

import random
import time

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="sgd", loss="mse")


def batches():
    until = time.perf_counter() + 12.0
    while time.perf_counter() < until:
        np.sort(rng.normal(size=200000))
    for number in range(10**6):
        at = 32 * (number % 20)
        yield features[at : at + 32], labels[at : at + 32]


model.fit(batches(), steps_per_epoch=20, epochs=3, verbose=0)
print("done")
