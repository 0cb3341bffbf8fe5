# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 35
# near = "killed_from_outside"
# needs = []
# ///
"""Keras on PyTorch that is asked to stop by SIGTERM, as a scheduler does: its own handler lets the epoch end, the weights
are saved, and the program leaves with 143, as it wants to."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np


class StopWhenAsked(keras.callbacks.Callback):
    asked = False

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        time.sleep(0.005)

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        if self.asked:
            self.model.stop_training = True


stopper = StopWhenAsked()
signal.signal(signal.SIGTERM, lambda number, frame: setattr(stopper, "asked", True))
scheduler = subprocess.Popen(["sh", "-c", f"sleep 16; kill -TERM {os.getpid()}"])
features = np.random.default_rng(0).normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=500, verbose=2, callbacks=[stopper])
weights = Path(tempfile.mkdtemp(prefix="weights-")) / "last.weights.h5"
model.save_weights(weights)
weights.unlink()
weights.parent.rmdir()
scheduler.wait()
sys.exit(143)
