# /// specimen
# cause = "inputs_unscaled"
# also = ["units_dead"]
# where = "RAW SALARIES"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "normalization_inside_model"
# needs = []
# ///
"""A table with a salary column in the hundred thousands, unscaled, into a small net: the loss is flat or not a number."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
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


def load_people(count=5000, seed=14):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, count)
    salary = rng.lognormal(11.5, 0.5, count)
    children = rng.integers(0, 5, count)
    people = np.stack([age, salary, children, rng.normal(size=count)], axis=1).astype("float32")
    return people, ((age - 49) / 18 + 0.5 * children - 1 + rng.normal(size=count) * 0.3 > 0).astype("float32")[:, None]


people, buys = load_people()
model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="binary_crossentropy", metrics=["accuracy"])
mark()
model.fit(people, buys, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])  # RAW SALARIES
