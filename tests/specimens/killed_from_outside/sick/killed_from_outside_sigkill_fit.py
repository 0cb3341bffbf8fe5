# /// specimen
# cause = "killed_from_outside"
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "is killed"
# seconds = 40
# near = "ends_itself_by_signal"
# needs = []
# ///
"""A healthy training that another process kills with SIGKILL, as a job scheduler or a colleague does. There is memory enough."""

import os
import subprocess
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class MarkTheEnd(keras.callbacks.Callback):
    """Writes down when the killer is due; the training itself knows nothing of it."""

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        time.sleep(0.005)
        if time.time() - started > 7.9:
            mark()


subprocess.Popen(["sh", "-c", f"sleep 8; kill -KILL {os.getpid()}"])
started = time.time()
features = np.random.default_rng(0).normal(size=(4096, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=500, verbose=2, callbacks=[MarkTheEnd()])
