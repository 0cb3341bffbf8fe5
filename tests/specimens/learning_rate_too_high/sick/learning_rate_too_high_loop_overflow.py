# /// specimen
# cause = "learning_rate_too_high"
# also = ["loss_not_finite", "units_dead"]
# where = "RATE HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "linear_targets_ten_thousand"
# needs = []
# ///
"""A linear regression in an own loop: the step is longer than the slope allows, so the loss grows tenfold each step until it overflows."""

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

def load_houses(count=4000, seed=7):
    rng = np.random.default_rng(seed)
    houses = rng.normal(size=(count, 10)).astype("float32")
    return houses, (houses @ rng.normal(size=(10, 1)) + 3).astype("float32")


houses, prices = load_houses()
dataset = tf.data.Dataset.from_tensor_slices((houses, prices)).shuffle(4000, seed=1).batch(64).repeat()
model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(5.0)  # RATE HERE


@tf.function
def train_step(batch, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch, training=True) - target))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


mark()
end = time.monotonic() + 22
for step, (batch, target) in enumerate(dataset):
    loss = train_step(batch, target)
    if step < 5 or step % 1000 == 0:
        print(f"step {step}: loss {float(loss):.4g}", flush=True)
    if time.monotonic() > end:
        break
