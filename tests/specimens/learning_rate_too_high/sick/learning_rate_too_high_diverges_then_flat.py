# /// specimen
# cause = "learning_rate_too_high"
# also = ["units_dead"]
# where = "RATE HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 35
# near = "sgd_rate_one_batchnorm"
# needs = []
# ///
"""The first steps are far too long: the loss shoots up, then stays flat at the level of guessing, since no unit answers any more."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_accelerometer(count=4000, seed=11):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 5, count)
    windows = rng.normal(size=(count, 60)) + np.sin(np.arange(60)[None] * (kind[:, None] + 1) / 6)
    return windows.astype("float32"), kind


windows, kind = load_accelerometer()
model = keras.Sequential(
    [
        keras.Input((60,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(5, activation="softmax"),
    ]
)
optimizer = keras.optimizers.SGD(learning_rate=1.0, momentum=0.9)  # RATE HERE
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(windows, kind, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
