# /// specimen
# cause = "labels_invalid"
# also = []
# where = "FIT WITH BAD LABELS"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "masks_ignore_255"
# needs = []
# ///
"""Two classes are labelled -1 and +1, but binary cross-entropy needs 0 and 1: the loss falls below zero without end."""

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


def load_reviews(count=6000, seed=26):
    rng = np.random.default_rng(seed)
    words = rng.random((count, 50)).astype("float32")
    mood = np.where(words[:, :5].sum(axis=1) > 2.5, 1.0, -1.0).astype("float32")
    return words, mood[:, None]


words, mood = load_reviews()
model = tf_keras.Sequential(
    [tf_keras.layers.Dense(32, activation="relu", input_shape=(50,)), tf_keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
mark()
model.fit(words, mood, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])  # FIT WITH BAD LABELS
