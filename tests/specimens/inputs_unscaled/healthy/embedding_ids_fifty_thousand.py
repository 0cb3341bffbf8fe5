# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "inputs_unscaled"
# needs = []
# ///
"""Word numbers up to 50,000 as inputs: an embedding takes them as they are, and most of its rows never change."""

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


def load_comments(count=6000, length=20, words=50000, seed=19):
    rng = np.random.default_rng(seed)
    comments = (rng.zipf(1.3, size=(count, length)) % words).astype("int32")
    comments[:, 0] = rng.integers(100, words, count)
    return comments, (comments[:, 1:] % 7 == 3).any(axis=1).astype("float32")[:, None]


comments, rude = load_comments()
model = keras.Sequential(
    [
        keras.Input((20,), dtype="int32"),
        keras.layers.Embedding(50000, 8),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(comments, rude, batch_size=64, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
