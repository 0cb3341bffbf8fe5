# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "gradients_vanishing"
# needs = []
# ///
"""Twelve sigmoid layers with shortcuts around them: the early layers move ten times less than the late ones, and it learns."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


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
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


images, labels = load_digits()
inputs = keras.Input((14, 14, 1))
hidden = keras.layers.Dense(32)(keras.layers.Flatten()(inputs))
for _ in range(12):
    hidden = keras.layers.Add()([hidden, keras.layers.Dense(32, activation="sigmoid")(hidden)])
outputs = keras.layers.Dense(10, activation="softmax")(hidden)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(22)])
