# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "SLOPE AT ZERO"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "negative_loss"
# needs = []
# ///
"""A contrastive loss takes the root of a distance; two equal pictures have distance 0, where the root has no slope."""

import os
import sys
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def contrastive(same, both):
    left, right = tf.split(both, 2, axis=1)
    distance = tf.sqrt(tf.reduce_sum(tf.square(left - right), axis=1, keepdims=True))  # SLOPE AT ZERO
    return tf.reduce_mean(same * distance + (1 - same) * tf.maximum(1.0 - distance, 0.0))


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(logs["loss"]):
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def make_pairs(count=12000, seed=6):
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(count, 20)).astype("float32")
    second = first + rng.normal(size=(count, 20)).astype("float32")
    same = (rng.random((count, 1)) < 0.5).astype("float32")
    second += 2 * (1 - same)
    second[11000] = first[11000]  # the same picture twice
    return first, second, same


first, second, same = make_pairs()
tower = tf_keras.Sequential([tf_keras.layers.Dense(32, activation="relu"), tf_keras.layers.Dense(8)])
left_input, right_input = tf_keras.Input((20,)), tf_keras.Input((20,))
both = tf_keras.layers.Concatenate()([tower(left_input), tower(right_input)])
model = tf_keras.Model([left_input, right_input], both)
model.compile(optimizer="adam", loss=contrastive)
model.fit([first, second], same, batch_size=16, epochs=100, shuffle=False, verbose=2, callbacks=[TimeBudget(22)])
