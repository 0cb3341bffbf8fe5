# /// specimen
# cause = "eager_execution"
# also = []
# where = "EAGER HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "tf_keras_callbacks_and_validation"
# needs = []
# ///
"""Keras 2 with run_eagerly=True left in compile, over a model of many small layers."""

import os
import sys
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def build_model(depth=10):
    inputs = tf_keras.Input((24,))
    outputs = inputs
    for _ in range(depth):
        hidden = tf_keras.layers.Dense(24, activation="relu")(outputs)
        outputs = tf_keras.layers.Add()([outputs, tf_keras.layers.LayerNormalization()(hidden)])
    return tf_keras.Model(inputs, tf_keras.layers.Dense(1)(outputs))


def load_rows(count=640, seed=22):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 24)).astype("float32")
    return rows, np.tanh(rows[:, :1])


model = build_model()
model.compile(optimizer="adam", loss="mse", run_eagerly=True)  # EAGER HERE
mark()
model.fit(*load_rows(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
