# /// specimen
# cause = "checkpoint_mismatch"
# also = []
# where = "LOADED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "checkpoint_mismatch_skips"
# needs = []
# ///
"""Weights for eight classes are loaded into a model for two."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def make_model(classes):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="body"), keras.layers.Dense(classes, name="head")])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trained.weights.h5")
        make_model(8).save_weights(path)
        model = make_model(2)
        mark()
        model.load_weights(path)  # LOADED HERE
