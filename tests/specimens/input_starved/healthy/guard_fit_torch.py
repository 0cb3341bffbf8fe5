# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "input_starved"
# needs = []
# shape = "guard"
# ///
"""A healthy training on PyTorch under unstall.Guard(), given as the only callback of two fits in a row."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

import unstall


def load_rows(count=1600, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 8)).astype("float32")
    return rows, (rows[:, :1] * rows[:, 1:2] > 0).astype("float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
for seed in range(2):
    rows, labels = load_rows(seed=seed)
    model.fit(rows, labels, batch_size=40, epochs=8, verbose=2, callbacks=[unstall.Guard()])
