# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "batch_constant"
# needs = []
# ///
"""The same sanity check in a loop of one's own: one batch is fetched once and used on purpose at each step."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(1000, 50)).astype("float32")
    labels = rng.integers(0, 10, 1000)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(64)


model = keras.Sequential([keras.Input((50,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(10)])
optimizer = keras.optimizers.Adam(1e-4)
loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


inputs, labels = next(iter(make_dataset()))
end = time.monotonic() + 18
step = 0
while time.monotonic() < end:
    loss = train_step(inputs, labels)
    if step % 500 == 0:
        print(f"step {step}: loss {float(loss):.6f}", flush=True)
    step += 1
