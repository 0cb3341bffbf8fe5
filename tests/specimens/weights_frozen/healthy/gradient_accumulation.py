# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "weights_frozen"
# needs = []
# ///
"""Gradients are summed over eight steps and then applied: seven steps of eight change nothing, on purpose."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

EVERY = 8


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(6400, 16)).astype("float32")
    targets = np.sin(inputs[:, :1] * 2) + inputs[:, 1:2]
    return tf.data.Dataset.from_tensor_slices((inputs, targets)).shuffle(6400).batch(8).prefetch(2)


model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
sums = [tf.Variable(tf.zeros(variable.shape), trainable=False) for variable in model.trainable_variables]


@tf.function
def accumulate(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
    for total, gradient in zip(sums, tape.gradient(loss, model.trainable_variables)):
        total.assign_add(gradient / EVERY)
    return loss


@tf.function
def apply_sums():
    optimizer.apply_gradients(zip(sums, model.trainable_variables))
    for total in sums:
        total.assign(tf.zeros_like(total))


dataset = make_dataset()
end = time.monotonic() + 20
epoch = 0
while time.monotonic() < end:
    for step, (inputs, targets) in enumerate(dataset):
        loss = accumulate(inputs, targets)
        if (step + 1) % EVERY == 0:
            apply_sums()
    epoch += 1
    print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)
