# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "LOG OF ZERO"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "nan_metric_not_loss"
# needs = []
# ///
"""A home-made cross-entropy without a floor: as soon as the model is sure of one example, 0 * log(0) is not a number."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def cross_entropy(target, predicted):
    return -ops.mean(target * ops.log(predicted) + (1 - target) * ops.log(1 - predicted))  # LOG OF ZERO


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(logs["loss"]):
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_transactions(count=6000, seed=3):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 20)).astype("float32")
    fraud = (rows[:, :4].sum(axis=1) > 0).astype("float32")
    rows[:, 4] += 3 * fraud
    return rows, fraud[:, None]


rows, fraud = load_transactions()
model = keras.Sequential(
    [
        keras.Input((20,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=cross_entropy, metrics=["accuracy"])
model.fit(rows, fraud, batch_size=32, epochs=400, verbose=2, callbacks=[TimeBudget(22)])
