# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 399
# loss = true
# compare = true
# ///
"""A session in a loop that is well."""

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

values = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(400):
        at = 32 * (number % 20)
        values.append(session.run([train, loss], {x: features[at : at + 32], y: labels[at : at + 32]})[1])
print("fell:", values[-1] < values[0])
