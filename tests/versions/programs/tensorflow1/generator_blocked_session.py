# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# steps = 49
# loss = true
# ///
"""The loop feeds a session from a generator, which waits for a socket."""

import socket

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2

x = tf.placeholder(tf.float32, (None, 8))
y = tf.placeholder(tf.float32, (None, 1))
prediction = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 1)
loss = tf.losses.mean_squared_error(y, prediction)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

near, far = socket.socketpair()


def batches():
    for number in range(10**6):
        if number == 50:
            near.recv(1)  # BLOCKED HERE
        at = 32 * (number % 20)
        yield features[at : at + 32], labels[at : at + 32]


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for batch, truth in batches():
        session.run([train, loss], {x: batch, y: truth})
