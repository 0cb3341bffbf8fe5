# /// program
# cause = "loss_not_finite"
# where = ""
# ends = "exits"
# steps = 199
# loss = true
# compare = true
# ///
"""One batch holds NaN: the loss that the session fetches is NaN from then on."""

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

labels[330] = np.nan
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(400):
        at = 32 * (number % 20)
        _, value = session.run([train, loss], {x: features[at : at + 32], y: labels[at : at + 32]})
print(value)
