# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# steps = 30
# loss = true
# ///
"""A loop of one's own takes its batches from Dataset.from_generator; the generator waits for a queue that nobody fills any more."""

import queue
import random

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

optimizer = tf.keras.optimizers.SGD(0.01)
arrived = queue.Queue()
for number in range(50):
    arrived.put(number)


def examples():
    while True:
        number = arrived.get()  # BLOCKED HERE
        at = 12 * number
        yield features[at : at + 12], labels[at : at + 12]


dataset = tf.data.Dataset.from_generator(examples, (tf.float32, tf.float32)).prefetch(2)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(tf.ensure_shape(x, (12, 8)), training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in dataset:
    train_step(x, y)
