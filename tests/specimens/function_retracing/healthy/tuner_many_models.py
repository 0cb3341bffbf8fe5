# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "function_retracing"
# needs = []
# ///
"""A hand-made search over ten small models: each is built, traced and fitted anew, so traces grow with the models."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def build_model(width, depth, rate):
    layers = [keras.Input((12,))] + [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
    return model


def load_table(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 12)).astype("float32")
    return rows, np.sin(rows[:, :1]) * rows[:, 1:2]


rows, targets = load_table()
results = {}
for width in (8, 16, 24, 32, 48):
    for rate in (1e-2, 1e-3):
        keras.utils.clear_session()
        model = build_model(width, depth=2, rate=rate)
        history = model.fit(rows, targets, batch_size=32, epochs=6, validation_split=0.2, verbose=0)
        results[width, rate] = history.history["val_loss"][-1]
        print(f"width {width}, rate {rate}: validation loss {results[width, rate]:.4f}", flush=True)
print("best:", min(results, key=results.get))
