# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "batch_constant"
# needs = []
# ///
"""steps_per_execution=16: callbacks see one batch in sixteen, which is a setting and not a stall."""

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


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(12800, 30)).astype("float32")
    labels = np.argmax(inputs[:, :5] + 0.2 * rng.normal(size=(12800, 5)), axis=1)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(12800).batch(16).prefetch(4)


model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(5, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"], steps_per_execution=16)
model.fit(make_dataset(), epochs=500, verbose=2, callbacks=[TimeBudget(20)])
