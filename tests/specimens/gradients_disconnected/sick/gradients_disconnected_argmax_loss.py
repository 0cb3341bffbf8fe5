# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "NO GRADIENT HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 15
# near = "custom_loss_with_rounding_metric"
# needs = []
# ///
"""A custom loss counts wrong classes by argmax. Argmax has no gradient, so fit stops with "No gradients provided"."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def load_digits(count=2000, seed=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    images = rng.normal(size=(count, 64)).astype("float32") + labels[:, None] * 0.1
    return images, labels.astype("int64")


def error_rate_loss(y_true, y_pred):
    predicted = tf.argmax(y_pred, axis=-1)  # NO GRADIENT HERE
    wrong = tf.not_equal(predicted, tf.cast(tf.reshape(y_true, [-1]), tf.int64))
    return tf.reduce_mean(tf.cast(wrong, tf.float32))


def build_model():
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(32, activation="relu", name="hidden"),
            keras.layers.Dense(10, activation="softmax", name="classes"),
        ]
    )
    model.compile(optimizer="adam", loss=error_rate_loss, metrics=["accuracy"])
    return model


images, labels = load_digits()
model = build_model()
mark()
model.fit(images, labels, batch_size=32, epochs=5)
