# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "inputs_unscaled"
# needs = []
# ///
"""Salaries in the hundred thousands, with a Normalization layer adapted to the table inside the model."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np


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
    people = np.stack([age, salary, rng.integers(0, 5, count), rng.normal(size=count)], axis=1).astype("float32")
    return people, ((age - 49) / 18 + np.log(salary) - 11.5 > 0).astype("float32")[:, None]


people, buys = load_people()
scale = keras.layers.Normalization()
scale.adapt(people)
inputs = keras.Input((4,))
hidden = keras.layers.Dense(32, activation="relu")(scale(inputs))
outputs = keras.layers.Dense(1, activation="sigmoid")(hidden)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(people, buys, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
