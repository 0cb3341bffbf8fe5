# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "generator_blocked"
# needs = []
# shape = "guard"
# ///
"""A healthy loop of one's own under unstall.watch(), with a pause for an evaluation after each pass."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

import unstall


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(6400, 10)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, inputs[:, :1] * 2)).shuffle(6400).batch(32).prefetch(2)


model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-4)


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


dataset = make_dataset()
end = time.monotonic() + 22
epoch = 0
with unstall.watch() as run:
    while time.monotonic() < end:
        for inputs, targets in run.steps(dataset):
            loss = train_step(inputs, targets)
        errors = [float(tf.reduce_mean((model(inputs) - targets) ** 2)) for inputs, targets in dataset.take(50)]
        epoch += 1
        print(f"epoch {epoch}: loss {float(loss):.5f}, error {np.mean(errors):.5f}", flush=True)
