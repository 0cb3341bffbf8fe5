# /// specimen
# cause = "killed_from_outside"
# also = []
# where = ""
# framework = "keras-torch"
# ends = "is killed"
# seconds = 40
# near = "stops_cleanly_on_sigterm"
# needs = []
# ///
"""Keras on PyTorch, with a SIGTERM handler of its own that would save the weights and leave; the scheduler does not ask but
sends SIGKILL."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


def save_and_leave(number, frame) -> None:
    print("saving before leaving", flush=True)
    sys.exit(0)


class SlowEnough(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs=None) -> None:
        time.sleep(0.005)
        if time.time() - started > 7.9:
            mark()


signal.signal(signal.SIGTERM, save_and_leave)
subprocess.Popen(["sh", "-c", f"sleep 8; kill -9 {os.getpid()}"])
started = time.time()
features = np.random.default_rng(0).normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=500, verbose=2, callbacks=[SlowEnough()])
