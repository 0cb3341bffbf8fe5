# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "batch_constant"
# needs = []
# ///
"""fit is called with epochs=1 in a loop, with one chunk of the data after the other. Odd, but right."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np


def chunks(seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(15, 1))
    while True:
        rows = rng.normal(size=(1000, 15)).astype("float32")
        yield rows, np.tanh(rows @ mixing).astype("float32")


model = keras.Sequential([keras.Input((15,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
end = time.monotonic() + 20
for number, (rows, targets) in enumerate(chunks()):
    history = model.fit(rows, targets, batch_size=25, epochs=1, verbose=0)
    print(f"chunk {number}: loss {history.history['loss'][0]:.5f}", flush=True)
    if time.monotonic() > end:
        break
