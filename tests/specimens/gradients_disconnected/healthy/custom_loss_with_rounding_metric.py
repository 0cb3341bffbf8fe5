# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""A loss of one's own that is smooth, and a metric that rounds and takes the argmax. The metric needs no gradient."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def focal_loss(y_true, y_pred):
    hit = tf.gather(y_pred, tf.cast(tf.reshape(y_true, [-1]), tf.int32), axis=1, batch_dims=1)
    rounded = tf.stop_gradient(tf.round(hit * 10) / 10)
    return tf.reduce_mean(-((1 - rounded) ** 2) * tf.math.log(hit + 1e-7))


def hit_rate(y_true, y_pred):
    return tf.cast(tf.argmax(y_pred, axis=-1) == tf.cast(tf.reshape(y_true, [-1]), tf.int64), tf.float32)


def load_digits(count=4000, seed=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    return (rng.normal(size=(count, 64)) + 2 * np.eye(10, 64)[labels]).astype("float32"), labels


model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10, activation="softmax")])
model.compile(optimizer="adam", loss=focal_loss, metrics=[hit_rate])
model.fit(*load_digits(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
