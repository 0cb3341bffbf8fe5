# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""An eager-looking loop that leaves TensorFlow for its metrics only: .numpy() on the loss is harmless."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(4096, 48)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((signals, np.sin(signals[:, :1]))).shuffle(4096).batch(64).prefetch(2)


model = keras.Sequential([keras.Input((48,)), keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(signals, targets):
    with tf.GradientTape() as tape:
        outputs = model(signals, training=True)
        loss = tf.reduce_mean((outputs - targets) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, outputs


def explained(outputs, targets):
    return 1 - np.var(targets.numpy() - outputs.numpy()) / np.var(targets.numpy())


dataset = make_dataset()
end = time.monotonic() + 20
epoch = 0
while time.monotonic() < end:
    scores = []
    for signals, targets in dataset:
        loss, outputs = train_step(signals, targets)
        scores.append(explained(outputs, targets))
    epoch += 1
    print(f"epoch {epoch}: loss {loss.numpy():.4f}, explained {np.mean(scores):.3f}", flush=True)
