# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "database_locked"
# needs = []
# ///
"""A callback writes each epoch into a SQLite file. Another program writes to it, too, and holds it for half a second now and then;
it always commits. A second file is locked by that program all the while, and the training has it open and only reads it at the start."""

import os
import sqlite3
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

OTHER = """
import sqlite3, sys, threading
labels = sqlite3.connect(sys.argv[2], isolation_level=None)
labels.execute("begin immediate")
runs = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
print("begun", flush=True)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.wait(1.0):
    runs.execute("begin immediate")
    runs.execute("insert into epochs values (-1, 0)")
    ended.wait(0.5)
    runs.execute("commit")
"""


class Track(keras.callbacks.Callback):
    def __init__(self, runs: sqlite3.Connection) -> None:
        super().__init__()
        self.runs = runs

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        self.runs.execute("insert into epochs values (?, ?)", (epoch, logs["loss"]))
        self.runs.commit()


with tempfile.TemporaryDirectory() as folder:
    runs = sqlite3.connect(f"{folder}/runs.db", timeout=60)
    runs.execute("create table epochs (epoch, loss)")
    runs.commit()
    labels = sqlite3.connect(f"{folder}/labels.db", timeout=60)
    labels.execute("create table labels (value)")
    labels.executemany("insert into labels values (?)", [(number % 7,) for number in range(8192)])
    labels.commit()
    targets = np.array(labels.execute("select value from labels").fetchall(), "float32")
    command = [sys.executable, "-c", OTHER, f"{folder}/runs.db", f"{folder}/labels.db"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdout.readline()
    features = (targets + np.random.default_rng(0).normal(size=(8192, 16)) / 4).astype("float32")
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(features, targets, batch_size=32, epochs=25, verbose=2, callbacks=[Track(runs)])
    other.communicate()
