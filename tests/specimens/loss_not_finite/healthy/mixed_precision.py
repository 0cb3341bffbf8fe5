# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "loss_not_finite"
# needs = []
# ///
"""mixed_float16 with loss scaling: the scale is lowered after an overflow in the first steps, and that is normal."""

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


def load_letters(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 8, count)
    strokes = rng.normal(size=(count, 40)).astype("float32") + np.eye(8, 40)[labels] * 2
    return strokes.astype("float32"), labels


keras.mixed_precision.set_global_policy("mixed_float16")
inputs = keras.Input((40,))
hidden = keras.layers.Dense(64, activation="relu")(inputs)
outputs = keras.layers.Dense(8, activation="softmax", dtype="float32")(hidden)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(*load_letters(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
