# /// specimen
# cause = "weights_frozen"
# also = []
# where = "RATE IS ZERO"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "finetune_tiny_rate"
# needs = []
# ///
"""A warm-up written with integer division: the learning rate is exactly 0 for the first 1000 epochs."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

WARMUP_EPOCHS = 1000
PEAK_RATE = 3e-3


def warm_up(epoch, rate):
    return PEAK_RATE * min(1, epoch // WARMUP_EPOCHS)  # RATE IS ZERO


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_prices(count=2000, seed=9):
    rng = np.random.default_rng(seed)
    houses = rng.normal(size=(count, 12)).astype("float32")
    return houses, (houses @ rng.normal(size=(12, 1))).astype("float32")


houses, prices = load_prices()
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(PEAK_RATE), loss="mse")
mark()
model.fit(
    houses,
    prices,
    batch_size=20,
    epochs=900,
    verbose=2,
    callbacks=[keras.callbacks.LearningRateScheduler(warm_up), TimeBudget(20)],
)
