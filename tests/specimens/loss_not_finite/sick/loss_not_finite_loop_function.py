# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "LOG OF ZERO"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loop_log_with_floor"
# needs = []
# ///
"""An own training loop in a tf.function; once a prediction rounds to 1, the loss holds 0 * log(0)."""

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


def make_clicks(count=8000, seed=4):
    rng = np.random.default_rng(seed)
    visitors = rng.normal(size=(count, 16)).astype("float32")
    clicked = (visitors[:, 0] + visitors[:, 1] > 0).astype("float32")
    visitors[:, 2] += 4 * clicked
    return visitors, clicked[:, None]


visitors, clicked = make_clicks()
dataset = tf.data.Dataset.from_tensor_slices((visitors, clicked)).shuffle(1000, seed=1).batch(32).repeat()
model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
optimizer = keras.optimizers.Adam(5e-3)


@tf.function
def train_step(batch, target):
    with tf.GradientTape() as tape:
        predicted = model(batch, training=True)
        entropy = target * tf.math.log(predicted) + (1.0 - target) * tf.math.log(1.0 - predicted)  # LOG OF ZERO
        loss = -tf.reduce_mean(entropy)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


end = time.monotonic() + 22
for step, (batch, target) in enumerate(dataset):
    loss = train_step(batch, target)
    if not np.isfinite(loss):
        mark()
    if step % 500 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    if time.monotonic() > end:
        break
