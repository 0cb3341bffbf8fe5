# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "labels_invalid"
# needs = []
# ///
"""Unlabelled words have class -1, and the loss was told so (ignore_class=-1)."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_sentences(count=4000, length=12, seed=24):
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 400, size=(count, length))
    tags = words % 5
    tags[rng.random(tags.shape) < 0.3] = -1
    return words.astype("int32"), tags.astype("int32")


words, tags = load_sentences()
model = keras.Sequential([keras.Input((12,), dtype="int32"), keras.layers.Embedding(400, 16), keras.layers.Dense(5)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
model.compile(optimizer="adam", loss=loss)
model.fit(words, tags, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
