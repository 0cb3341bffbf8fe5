# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "lock_deadlock"
# needs = []
# ///
"""Trains, then sleeps fifteen seconds on purpose, so that the log collector can take the last lines."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np


def load_rows(count=1200, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 8)).astype("float32")
    return rows, (rows[:, :1] * rows[:, 1:2] > 0).astype("float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(*load_rows(), batch_size=40, epochs=5, verbose=2)
print("done, waiting for the log collector", flush=True)
time.sleep(15)
