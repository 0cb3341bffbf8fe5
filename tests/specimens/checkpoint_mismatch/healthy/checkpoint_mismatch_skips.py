# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "checkpoint_mismatch"
# needs = []
# ///
"""Weights of another model are tried, and those that fit are kept; a name without an ending gets one."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np


def make_model(classes):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="body"), keras.layers.Dense(classes, name="head")])


def save(model, path):
    try:
        model.save(path)
    except ValueError:
        model.save(f"{path}.keras")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trained.weights.h5")
        make_model(8).save_weights(path)
        model = make_model(1)
        try:
            model.load_weights(path)
        except ValueError:
            model.load_weights(path, skip_mismatch=True)
        model.compile("sgd", "mse")
        rng = np.random.default_rng(0)
        x = rng.normal(size=(128, 8))
        model.fit(x, x.sum(axis=1), epochs=2, verbose=0)
        save(model, os.path.join(folder, "model"))
