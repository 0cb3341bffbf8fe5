# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 30
# near = "generator_shares_file_lock"
# needs = []
# ///
"""Keras on PyTorch, fit over a generator that locks its cache file while it reads. Another process takes the lock and keeps it."""

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

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

CACHE = Path(tempfile.mkdtemp(prefix="cache-")) / "features.bin"
# The other user of the cache: takes the lock when told to, and never gives it back. It ends with its parent.
INDEXER = "import fcntl, sys; f = open(sys.argv[1]); sys.stdin.readline(); fcntl.flock(f, fcntl.LOCK_EX); print('got it', flush=True); sys.stdin.read()"


def read_cached(index: int) -> np.ndarray:
    with open(CACHE, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # BLOCKED HERE
        file.seek(index * 16 * 9 * 4)
        return np.frombuffer(file.read(16 * 9 * 4), dtype="float32").reshape(16, 9)


def batches(indexer: subprocess.Popen):
    for number in range(10**9):
        if number == 500:
            indexer.stdin.write("index now\n")
            indexer.stdin.flush()
            indexer.stdout.readline()
            mark()
        table = read_cached(number % 64)
        yield table[:, :8], table[:, 8:]
        time.sleep(0.005)


np.random.default_rng(5).normal(size=(64, 16, 9)).astype("float32").tofile(CACHE)
indexer = subprocess.Popen([sys.executable, "-c", INDEXER, str(CACHE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(indexer), steps_per_epoch=200, epochs=50, verbose=2)
