# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "inputs_unscaled"
# needs = []
# ///
"""The files hold uint8 pixels; the map step of the input pipeline scales them to -1 .. 1."""

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


def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(120, 255, (count, 1, 1)) + rng.normal(0, 40, (count, 14, 14))
    return np.clip(images, 0, 255).astype("uint8")[..., None], labels


def preprocess(image, label):
    return tf.cast(image, tf.float32) / 127.5 - 1.0, label


images, labels = load_digits()
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(2000, seed=1).map(preprocess).batch(32).prefetch(2)
model = keras.Sequential(
    [
        keras.Input((14, 14, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
