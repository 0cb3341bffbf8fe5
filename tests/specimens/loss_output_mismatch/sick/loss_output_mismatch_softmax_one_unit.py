# /// specimen
# cause = "loss_output_mismatch"
# also = []
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "one_unit_sigmoid"
# needs = []
# ///
"""Softmax over a single unit is always 1, so the model says yes to everything and cannot learn."""

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


def load_messages(count=8000, seed=31):
    rng = np.random.default_rng(seed)
    messages = rng.random((count, 60)).astype("float32")
    return messages, (messages[:, :6].mean(axis=1) > 0.5).astype("float32")[:, None]


messages, spam = load_messages()
model = keras.Sequential(
    [keras.Input((60,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="softmax")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(messages, spam, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
