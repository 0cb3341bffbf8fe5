# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_output_mismatch"
# needs = []
# ///
"""Two heads: a class by softmax and a price in the thousands by mean squared error; the sum is ruled by the price."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_flats(count=6000, seed=42):
    rng = np.random.default_rng(seed)
    flats = rng.normal(size=(count, 16)).astype("float32")
    kind = np.argmax(flats[:, :3], axis=1)
    rent = (1000 + flats @ rng.normal(size=(16, 1)) * 200).astype("float32")
    return flats, kind, rent


flats, kind, rent = load_flats()
inputs = keras.Input((16,))
hidden = keras.layers.Dense(64, activation="relu")(inputs)
kind_head = keras.layers.Dense(3, activation="softmax", name="kind")(hidden)
rent_head = keras.layers.Dense(1, name="rent")(hidden)
model = keras.Model(inputs, {"kind": kind_head, "rent": rent_head})
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss={"kind": "sparse_categorical_crossentropy", "rent": "mse"},
    loss_weights={"kind": 1.0, "rent": 1e-4},
)
model.fit(flats, {"kind": kind, "rent": rent}, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
