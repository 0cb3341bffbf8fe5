# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_not_finite"
# needs = []
# ///
"""An own precision metric divides by the number of positive answers, none at first: NaN in a metric, while the loss is well."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from keras import ops

def precision(target, predicted):
    said_yes = ops.cast(predicted > 0.5, "float32")
    return ops.sum(said_yes * target) / ops.sum(said_yes)


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_defects(count=8000, seed=18):
    rng = np.random.default_rng(seed)
    pieces = rng.normal(size=(count, 24)).astype("float32")
    return pieces, (pieces[:, :2].sum(axis=1) > 2.8).astype("float32")[:, None]


pieces, defect = load_defects()
model = keras.Sequential(
    [
        keras.Input((24,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(-3.0)),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=[precision])
model.fit(pieces, defect, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
