# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 45
# near = "loss_not_falling"
# needs = []
# ///
"""Keras 2 with a falling rate, early stopping and validation: late epochs hardly improve, as they should."""

import os
import time

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_rows(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 10)).astype("float32")
    return rows, (rows[:, 0] * rows[:, 1] + 0.5 * rng.normal(size=count) > 0).astype("float32")


model = tf_keras.Sequential(
    [tf_keras.layers.Dense(32, activation="relu", input_shape=(10,)), tf_keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer=tf_keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(
    *load_rows(),
    batch_size=32,
    epochs=500,
    verbose=2,
    validation_split=0.2,
    callbacks=[tf_keras.callbacks.ReduceLROnPlateau(patience=3), TimeBudget(22)],
)
