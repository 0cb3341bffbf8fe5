# /// program
# cause = "function_retracing"
# also = ["host_memory_leaking"]
# where = "RETRACED HERE"
# ends = "exits"
# steps = 79
# ///
"""The step is given a Python number that changes: tf.function traces it anew in every step."""

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

optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(x, y, weight):  # RETRACED HERE
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


began, number = time.monotonic(), 0
while number < 80 or time.monotonic() - began < 20:
    at = 32 * (number % 20)
    train_step(features[at : at + 32], labels[at : at + 32], 1.0 / (1 + number))  # RETRACED HERE
    number += 1
