# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "generator_blocked"
# needs = []
# ///
"""Trains, then waits at a prompt for the user to say whether the model shall be kept: not stuck."""

import os
import sys
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def answer_later(writer, seconds):
    """The user comes back from lunch."""
    time.sleep(seconds)
    os.write(writer, b"y\n")


def load_rows(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 8)).astype("float32")
    return rows, rows[:, :1] - rows[:, 1:2]


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(*load_rows(), batch_size=20, epochs=8, verbose=2)

reader, writer = os.pipe()
os.dup2(reader, 0)
sys.stdin = os.fdopen(0)
threading.Thread(target=answer_later, args=(writer, 18), daemon=True).start()
if input("keep this model? [y/n] ") == "y":
    print("kept")
