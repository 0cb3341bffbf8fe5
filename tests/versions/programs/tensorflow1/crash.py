# /// program
# cause = "program_error"
# where = "FAILS HERE"
# ends = "crashes"
# compare = true
# ///
"""A batch of the wrong shape is fed."""

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

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(100):
        at = 32 * (number % 20)
        batch = features[at : at + 32] if number != 60 else features[at : at + 32, :7]
        session.run([train, loss], {x: batch, y: labels[at : at + 32]})  # FAILS HERE
