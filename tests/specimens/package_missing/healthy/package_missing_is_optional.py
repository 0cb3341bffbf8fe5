# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "package_missing"
# needs = []
# ///
"""Packages that are nice to have are tried, and done without."""

import importlib
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

try:
    import metrics_of_the_laboratory as metrics
except ImportError:
    metrics = None


def optional(*names):
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    return None


if __name__ == "__main__":
    assert metrics is None
    optional("camera_of_the_laboratory", "numpy.of_another_time")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 4))
    model.fit(x, x.sum(axis=1), verbose=0, epochs=2)
