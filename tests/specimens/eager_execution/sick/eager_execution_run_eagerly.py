# /// specimen
# cause = "eager_execution"
# also = []
# where = "EAGER HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "eager_loop_with_big_ops"
# needs = []
# ///
"""compile(run_eagerly=True) was set to debug a layer and stayed: nearly all of each step is Python, not arithmetic."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
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


def residual_block(inputs, width):
    hidden = keras.layers.Dense(width, activation="relu")(inputs)
    hidden = keras.layers.LayerNormalization()(hidden)
    return keras.layers.Add()([inputs, hidden])


def build_model():
    inputs = keras.Input((32,))
    outputs = keras.layers.Dense(32)(inputs)
    for _ in range(8):
        outputs = residual_block(outputs, 32)
    outputs = keras.layers.Dense(1)(outputs)
    return keras.Model(inputs, outputs)


def load_table(count=640, seed=13):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 32)).astype("float32")
    return rows, np.tanh(rows[:, :1] + rows[:, 1:2])


rows, targets = load_table()
model = build_model()
model.compile(optimizer="adam", loss="mse", run_eagerly=True)  # EAGER HERE
mark()
model.fit(rows, targets, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(22)])
