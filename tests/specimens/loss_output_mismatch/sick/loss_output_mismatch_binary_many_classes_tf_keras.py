# /// specimen
# cause = "loss_output_mismatch"
# also = ["labels_invalid"]
# where = "COMPILED HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "multi_label_binary"
# needs = []
# ///
"""Seven classes, numbered 0 to 6, but one sigmoid unit and the loss for two classes: the loss goes far below zero."""

import os
import sys
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_beans(count=6000, seed=35):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 7, count)
    return (rng.normal(size=(7, 16))[kind] + rng.normal(size=(count, 16))).astype("float32"), kind


beans, kind = load_beans()
model = tf_keras.Sequential(
    [tf_keras.layers.Dense(48, activation="relu", input_shape=(16,)), tf_keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(beans, kind, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
