# /// specimen
# cause = "package_missing"
# also = []
# where = "IMPORTED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "package_missing_is_optional"
# needs = []
# ///
"""A callback imports its package when the first epoch ends, and it is not installed: nobody noticed before."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Metrics(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        mark()
        from metrics_of_the_laboratory import recall  # IMPORTED HERE

        print(recall(self.model))


if __name__ == "__main__":
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((8, 4)), np.zeros((8, 1)), verbose=0, callbacks=[Metrics()])
