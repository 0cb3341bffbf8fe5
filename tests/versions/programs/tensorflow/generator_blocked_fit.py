# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# steps = 39
# loss = true
# ///
"""A generator that is given to fit reads its labels from a socket, and the other side falls silent."""

import random
import socket

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="sgd", loss="mse")
near, far = socket.socketpair()


def read_label(number):
    if number == 40:
        near.recv(1)  # BLOCKED HERE
    at = 32 * (number % 20)
    return labels[at : at + 32]


def batches():
    for number in range(10**6):
        label = read_label(number)
        at = 32 * (number % 20)
        yield features[at : at + 32], label


model.fit(batches(), steps_per_epoch=20, epochs=50, verbose=0)
