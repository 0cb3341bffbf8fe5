# /// specimen
# cause = "weights_frozen"
# also = []
# where = "NEVER APPLIED"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "gradient_accumulation"
# needs = []
# ///
"""The loop computes the gradients and clips them, and forgets to apply them."""

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


def make_dataset(seed=2):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (5000, 8)).astype("float32")
    heights = (points[:, :1] * points[:, 1:2] + 0.5 * points[:, 2:3]).astype("float32")
    return tf.data.Dataset.from_tensor_slices((points, heights)).shuffle(5000).batch(50)


model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(points, heights):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(points, training=True) - heights))
    gradients = tape.gradient(loss, model.trainable_variables)  # NEVER APPLIED
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    return loss, norm


def main():
    dataset = make_dataset()
    model.build((None, 8))
    optimizer.build(model.trainable_variables)
    mark()
    end = time.monotonic() + 22
    epoch = 0
    while time.monotonic() < end:
        for points, heights in dataset:
            loss, norm = train_step(points, heights)
        epoch += 1
        print(f"epoch {epoch}: loss {float(loss):.4f}, gradient norm {float(norm):.3f}", flush=True)


main()
