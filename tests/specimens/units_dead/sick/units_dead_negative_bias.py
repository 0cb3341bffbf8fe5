# /// specimen
# cause = "units_dead"
# also = []
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "sparse_relu_third_inactive"
# needs = []
# ///
"""The hidden biases start at -20, below anything the inputs can lift: no ReLU ever answers, and no gradient passes."""

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


def load_patients(count=8000, seed=10):
    rng = np.random.default_rng(seed)
    values = rng.random((count, 24)).astype("float32")
    return values, (values[:, :3].sum(axis=1) > 1.5).astype("float32")[:, None]


values, ill = load_patients()
model = keras.Sequential(
    [
        keras.Input((24,)),
        keras.layers.Dense(64, activation="relu", bias_initializer=keras.initializers.Constant(-20.0)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(values, ill, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
