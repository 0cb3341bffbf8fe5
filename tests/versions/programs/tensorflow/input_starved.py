# /// program
# cause = "input_starved"
# also = ["python_in_pipeline"]
# where = "SLOW HERE"
# ends = "exits"
# steps = 150
# loss = true
# ///
"""Each batch takes 0.1 s to be made, in Python and computing; the step takes next to none."""

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


def augment(batch):
    until = time.perf_counter() + 0.1
    while time.perf_counter() < until:
        noise = rng.normal(size=(2000, 8)).astype("float32")  # SLOW HERE
    return batch + 0.01 * noise[:32]  # SLOW HERE


def batches():
    for number in range(10**6):
        at = 32 * (number % 20)
        yield augment(features[at : at + 32]), labels[at : at + 32]  # SLOW HERE


model.fit(batches(), steps_per_epoch=50, epochs=6, verbose=0)
