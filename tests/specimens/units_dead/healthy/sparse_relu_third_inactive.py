# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "units_dead"
# needs = []
# ///
"""A third of the hidden units never answer (they were pruned by their biases), the rest learn well."""

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


def load_patients(count=8000, seed=10):
    rng = np.random.default_rng(seed)
    values = rng.random((count, 24)).astype("float32")
    return values, (values[:, :3].sum(axis=1) > 1.5).astype("float32")[:, None]


values, ill = load_patients()
model = keras.Sequential(
    [
        keras.Input((24,)),
        keras.layers.Dense(96, activation="relu", name="wide"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
kernel, bias = model.get_layer("wide").get_weights()
bias[:32] = -30.0
model.get_layer("wide").set_weights([kernel, bias])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(values, ill, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
