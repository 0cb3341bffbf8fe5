# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-jax"
# ends = "hangs"
# seconds = 45
# near = "guard_fit"
# needs = []
# shape = "guard"
# ///
"""Training on JAX under unstall.Guard(): the generator opens a named pipe that nobody writes to any more."""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

import unstall

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

PIECES = 30


def feed(pipe):
    """Writes a few pieces into the pipe, then stops."""
    rng = np.random.default_rng(2)
    for _ in range(PIECES):
        with open(pipe, "wb") as writer:
            writer.write(rng.normal(size=(320, 6)).astype("float32").tobytes())
        time.sleep(0.05)
    mark()


def pieces(pipe):
    while True:
        with open(pipe, "rb") as reader:  # BLOCKED HERE
            rows = np.frombuffer(reader.read(), "float32").reshape(-1, 6)
        for start in range(0, len(rows), 32):
            part = rows[start : start + 32]
            yield part, part.sum(axis=1, keepdims=True)


pipe = os.path.join(tempfile.mkdtemp(), "pieces")
os.mkfifo(pipe)
threading.Thread(target=feed, args=(pipe,), daemon=True).start()
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(pieces(pipe), steps_per_epoch=100, epochs=20, verbose=2, callbacks=[unstall.Guard()])
