# /// specimen
# cause = "gradients_exploding"
# also = ["loss_not_finite", "units_dead"]
# where = "COMPILED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "rnn_with_clipping"
# needs = []
# ///
"""A plain recurrent net with stretching weights under fit: the loss is astronomic in the first step and not a number soon after."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_returns(count=3000, length=100, seed=15):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(count, length, 4)).astype("float32")
    return returns, returns[:, -10:, 0].mean(axis=1, keepdims=True)


returns, trend = load_returns()
model = keras.Sequential(
    [
        keras.Input((100, 4)),
        keras.layers.SimpleRNN(
            32, activation="relu", recurrent_initializer=keras.initializers.RandomNormal(stddev=0.3, seed=3)
        ),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.001), loss="mse")  # COMPILED HERE
mark()
model.fit(returns, trend, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
