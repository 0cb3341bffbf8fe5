# /// program
# cause = "gradients_disconnected"
# also = ["weights_frozen", "loss_not_falling"]
# where = ""
# ends = "exits"
# steps = 500
# ///
"""The second half of the model sits behind stop_gradient, so that the first half never learns."""

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

backbone = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(32)])
head = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(32,))])
optimizer = tf.keras.optimizers.SGD(0.01)
variables = backbone.trainable_variables + head.trainable_variables


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        middle = tf.round(backbone(x, training=True))
        loss = tf.reduce_mean((head(middle, training=True) - y) ** 2)
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients([pair for pair in zip(gradients, variables) if pair[0] is not None])
    return loss


for number in range(1000):
    at = 32 * (number % 20)
    train_step(features[at : at + 32], labels[at : at + 32])
    time.sleep(0.008)
