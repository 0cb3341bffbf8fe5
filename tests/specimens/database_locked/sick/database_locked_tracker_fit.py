# /// specimen
# cause = "database_locked"
# also = []
# where = "WAITS HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 35
# near = "database_shared_with_writer"
# needs = []
# ///
"""A callback writes each epoch into a SQLite file, with a timeout of ten minutes. A second program, a report that was begun and
forgotten, has opened a transaction on the same file and does not commit."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

REPORT = """
import sqlite3, sys
runs = sqlite3.connect(sys.argv[1], isolation_level=None)
runs.execute("begin immediate")
runs.execute("delete from epochs where loss is null")
print("begun", flush=True)
sys.stdin.read()  # forgotten; it ends with the training
"""


class Track(keras.callbacks.Callback):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.runs = sqlite3.connect(path, timeout=600)
        self.runs.execute("create table epochs (epoch, loss)")
        self.runs.commit()
        self.report = None

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        if epoch == 4:
            self.report = subprocess.Popen(
                [sys.executable, "-c", REPORT, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.report.stdout.readline()
            mark()
        self.runs.execute("insert into epochs values (?, ?)", (epoch, logs["loss"]))  # WAITS HERE
        self.runs.commit()


rng = np.random.default_rng(2)
features = rng.normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
with tempfile.TemporaryDirectory() as folder:
    track = Track(f"{folder}/runs.db")
    model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=50, verbose=2, callbacks=[track])
