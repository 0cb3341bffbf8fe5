# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "learning_rate_too_high"
# needs = []
# ///
"""SGD at 1.0: with batch normalisation after every layer the length of the weights does not matter, and it learns."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np


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
model = keras.Sequential([keras.Input((60,))])
for width in (64, 32):
    model.add(keras.layers.Dense(width, use_bias=False))
    model.add(keras.layers.BatchNormalization())
    model.add(keras.layers.ReLU())
model.add(keras.layers.Dense(5, activation="softmax"))
model.compile(optimizer=keras.optimizers.SGD(1.0), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(windows, kind, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
