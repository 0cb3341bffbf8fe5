# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "loss_not_falling"
# needs = []
# ///
"""An easy task: the hinge loss is exactly 0 after a few epochs and stays there, because all is learnt."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_two_heaps(count=2000, seed=0):
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0], count).astype("float32")
    points = sign[:, None] * 5 + rng.normal(scale=0.3, size=(count, 4))
    return points.astype("float32"), sign[:, None]


points, sign = load_two_heaps()
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="hinge")
model.fit(points, sign, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
