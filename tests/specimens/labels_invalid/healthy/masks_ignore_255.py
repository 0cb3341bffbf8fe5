# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "labels_invalid"
# needs = []
# ///
"""Segmentation masks where 255 means 'do not care'; the own loss leaves those pixels out."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

IGNORED = 255


def masked_cross_entropy(mask, scores):
    known = tf.not_equal(mask, IGNORED)
    safe = tf.where(known, mask, tf.zeros_like(mask))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(safe, tf.int32), logits=scores)
    return tf.reduce_sum(loss * tf.cast(known, tf.float32)) / tf.maximum(1.0, tf.reduce_sum(tf.cast(known, tf.float32)))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_scenes(count=1500, seed=23):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, size=(count, 4, 4))
    mask = np.kron(kinds, np.ones((1, 4, 4), dtype=int)).astype("uint8")
    scenes = np.eye(3)[mask] + rng.normal(0, 0.4, size=(count, 16, 16, 3))
    mask[:, 3::4] = IGNORED
    return scenes.astype("float32"), mask


scenes, mask = load_scenes()
model = keras.Sequential(
    [keras.Input((16, 16, 3)), keras.layers.Conv2D(8, 3, padding="same", activation="relu"), keras.layers.Conv2D(3, 1)]
)
model.compile(optimizer="adam", loss=masked_cross_entropy)
model.fit(scenes, mask, batch_size=16, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
