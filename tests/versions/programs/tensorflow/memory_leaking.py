# /// program
# cause = "host_memory_leaking"
# where = "KEPT HERE"
# ends = "exits"
# steps = 600
# ///
"""A loop keeps the features of every step in a list."""

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
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)
kept = []


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(60):
    for x, y in dataset:
        loss = train_step(x, y)
        kept.append(np.full((250, 250), float(loss)))  # KEPT HERE
        time.sleep(0.02)
    if len(kept) > 1400:
        break
