# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = ["two-processes"]
# ///
"""Keras on PyTorch, fit over a generator that locks its cache file while it reads. Another process takes the lock for 2 s
at a time and gives it back."""

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

CACHE = Path(tempfile.mkdtemp(prefix="cache-")) / "features.bin"
# The other user of the cache: works on it for 2 s, rests for 3 s. It ends with its parent's pipe.
INDEXER = """
import fcntl, select, sys, time
file = open(sys.argv[1])
while not select.select([sys.stdin], [], [], 3)[0]:
    fcntl.flock(file, fcntl.LOCK_EX); time.sleep(2); fcntl.flock(file, fcntl.LOCK_UN)
"""


def read_cached(index: int) -> np.ndarray:
    with open(CACHE, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(index * 16 * 9 * 4)
        return np.frombuffer(file.read(16 * 9 * 4), dtype="float32").reshape(16, 9)


def batches():
    for number in range(10**9):
        table = read_cached(number % 64)
        yield table[:, :8], table[:, 8:]


np.random.default_rng(5).normal(size=(64, 16, 9)).astype("float32").tofile(CACHE)
indexer = subprocess.Popen([sys.executable, "-c", INDEXER, str(CACHE)], stdin=subprocess.PIPE)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(batches(), steps_per_epoch=100, epochs=5, verbose=2, callbacks=[slow])
indexer.stdin.close()
indexer.wait()
CACHE.unlink()
CACHE.parent.rmdir()
