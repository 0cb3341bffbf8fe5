# /// specimen
# cause = "gradients_exploding"
# also = ["loss_not_finite", "units_dead"]
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "clipping_large_raw_norms"
# needs = []
# ///
"""Fourteen layers drawn with a standard deviation of 0.5 instead of about 0.18: each layer multiplies the gradient, the first update ends it."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
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


def load_flows(count=6000, seed=3):
    rng = np.random.default_rng(seed)
    flows = rng.normal(size=(count, 32)).astype("float32")
    return flows, np.argmax(flows[:, :4], axis=1)


flows, kind = load_flows()
wide = keras.initializers.RandomNormal(stddev=0.5, seed=1)
model = keras.Sequential([keras.Input((32,))])
for _ in range(14):
    model.add(keras.layers.Dense(64, activation="relu", kernel_initializer=wide))  # DRAWN TOO WIDE
model.add(keras.layers.Dense(4))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss=loss, metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(flows, kind, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
