# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "batch_constant"
# needs = []
# ///
"""next(iter(dataset)) at each step, of a shuffled set: wasteful, but each batch is another one."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(500, 12)).astype("float32")
    labels = (inputs[:, :1] + inputs[:, 1:2] > 0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(500).batch(32)


model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


dataset = make_dataset()
end = time.monotonic() + 20
step = 0
while time.monotonic() < end:
    inputs, labels = next(iter(dataset))
    loss = train_step(inputs, labels)
    step += 1
    if step % 200 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
