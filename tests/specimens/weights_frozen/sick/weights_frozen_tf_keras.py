# /// specimen
# cause = "weights_frozen"
# also = []
# where = "FROZEN HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "tf_keras_frozen_embedding"
# needs = []
# ///
"""The whole model is frozen for an evaluation, and then trained on without being set free again (Keras 2)."""

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


def load_rows(count=3000, seed=23):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 10)).astype("float32")
    return rows, (rows[:, 0] > rows[:, 1]).astype("float32")


def freeze(model):
    model.trainable = False  # FROZEN HERE


model = tf_keras.Sequential(
    [tf_keras.layers.Dense(32, activation="relu", input_shape=(10,)), tf_keras.layers.Dense(1, activation="sigmoid")]
)
freeze(model)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
rows, labels = load_rows()
print("before:", model.evaluate(rows, labels, verbose=0))
mark()
model.fit(rows, labels, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(18)])
