# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "inputs_unscaled"
# needs = []
# ///
"""Pixels from 0 to 255 into a batch normalisation, without any rescaling by hand: it learns."""

import os
import time

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_digits(count=6000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(120, 255, (count, 1, 1)) + rng.normal(0, 40, (count, 14, 14))
    return np.clip(images, 0, 255).astype("float32")[..., None], labels


images, labels = load_digits()
model = tf_keras.Sequential(
    [
        tf_keras.layers.BatchNormalization(input_shape=(14, 14, 1)),
        tf_keras.layers.Conv2D(16, 3, activation="relu"),
        tf_keras.layers.Flatten(),
        tf_keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(22)])
