# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# steps = 39
# loss = true
# ///
"""A generator that is given to fit_generator reads its labels from a socket, and the other side falls silent."""

import socket

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2

model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")

near, far = socket.socketpair()


def batches():
    for number in range(10**6):
        if number == 60:
            near.recv(1)  # BLOCKED HERE
        at = 32 * (number % 20)
        yield features[at : at + 32], labels[at : at + 32]


model.fit_generator(batches(), steps_per_epoch=20, epochs=50, verbose=0)
