# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "LEAVES THE TAPE HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "numpy_metric_in_loop"
# needs = []
# ///
"""The forward pass goes through NumPy, so the tape sees no way from the loss back to the encoder.

The loop drops the missing gradients without a word, and trains the small head only.
"""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(4096, 48)).astype("float32")
    targets = np.sin(signals[:, :1]) + signals[:, 1:2] ** 2
    return tf.data.Dataset.from_tensor_slices((signals, targets)).shuffle(1024).batch(32)


def normalise(features):
    values = features.numpy()  # LEAVES THE TAPE HERE
    values -= values.mean(axis=0)
    return tf.constant(values / (values.std(axis=0) + 1e-6))


encoder = keras.Sequential([keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(32)], name="encoder")
head = keras.layers.Dense(1, name="head")
optimizer = keras.optimizers.Adam(1e-3)


def train(dataset, epochs, budget_s):
    end = time.monotonic() + budget_s
    for epoch in range(epochs):
        losses = []
        for signals, targets in dataset:
            with tf.GradientTape() as tape:
                features = normalise(encoder(signals))
                loss = tf.reduce_mean((head(features) - targets) ** 2)
            variables = encoder.trainable_variables + head.trainable_variables
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients([(g, v) for g, v in zip(gradients, variables) if g is not None])
            losses.append(float(loss))
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}", flush=True)
        if time.monotonic() > end:
            break


mark()
train(make_dataset(), epochs=200, budget_s=22)
