# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "ROOT OF A NEGATIVE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loop_log_with_floor"
# needs = []
# ///
"""An eager loop; the box loss compares square roots of sizes, and the model may predict a size below zero."""

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


def size_loss(true_size, predicted_size):
    return tf.reduce_mean(tf.square(tf.sqrt(true_size) - tf.sqrt(predicted_size)))  # ROOT OF A NEGATIVE


def make_crops(count=6000, seed=2):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.005, 1.0, size=(count, 2)).astype("float32")
    crops = np.concatenate([sizes, sizes[:, :1] * sizes[:, 1:], rng.normal(size=(count, 5)) * 0.1], axis=1)
    return crops.astype("float32"), sizes


crops, sizes = make_crops()
dataset = tf.data.Dataset.from_tensor_slices((crops, sizes)).shuffle(6000, seed=3).batch(16).repeat()
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(2, bias_initializer=keras.initializers.Constant(1.5)),
    ]
)
optimizer = keras.optimizers.SGD(0.01)
end = time.monotonic() + 22
for step, (batch, true_size) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = size_loss(true_size, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if not np.isfinite(loss):
        mark()
    if step % 200 == 0:
        print(f"step {step}: loss {float(loss):.5f}", flush=True)
    if time.monotonic() > end:
        break
