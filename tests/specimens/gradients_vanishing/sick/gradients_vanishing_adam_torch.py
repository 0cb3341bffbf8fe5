# /// specimen
# cause = "gradients_vanishing"
# also = []
# where = "COMPILED HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "deep_sigmoid_with_shortcuts"
# needs = []
# ///
"""Twelve sigmoid layers drawn very narrow, trained with Adam: the first layers get gradients of 1e-12, and guessing is all it learns."""

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


def load_faults(count=4000, seed=4):
    rng = np.random.default_rng(seed)
    readings = rng.normal(size=(count, 30)).astype("float32")
    return readings, (readings[:, 0] * readings[:, 1] > 0).astype("int64")


readings, faulty = load_faults()
narrow = keras.initializers.RandomNormal(stddev=0.02, seed=9)
model = keras.Sequential([keras.Input((30,))])
for _ in range(12):
    model.add(keras.layers.Dense(24, activation="sigmoid", kernel_initializer=narrow))
model.add(keras.layers.Dense(2, activation="softmax"))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(readings, faulty, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(22)])
