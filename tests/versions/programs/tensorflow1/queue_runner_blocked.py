# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# steps = 9
# ///
"""A queue runner fills the input queue by a Python function, which waits for a socket."""

import socket

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2

near, far = socket.socketpair()
taken = [0]


def read():
    taken[0] += 1
    if taken[0] > 2000:
        near.recv(1)  # BLOCKED HERE
    at = taken[0] % 640
    return features[at], labels[at]


x, y = tf.py_func(read, [], [tf.float32, tf.float32])
x.set_shape((8,))
y.set_shape((1,))
x, y = tf.train.batch([x, y], batch_size=32)
prediction = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 1)
loss = tf.losses.mean_squared_error(y, prediction)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    runners = tf.train.start_queue_runners(session)
    while True:
        session.run([train, loss])
