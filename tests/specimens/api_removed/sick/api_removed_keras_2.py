# /// specimen
# cause = "api_removed"
# also = []
# where = "MADE HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "api_removed_asks_first"
# needs = []
# ///
"""The optimizer is made as in Keras 2, where the learning rate could be given as lr. Keras 3 knows no such argument."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    mark()
    model.compile(optimizer=keras.optimizers.SGD(lr=0.01, momentum=0.9), loss="mse")  # MADE HERE
    model.fit(np.zeros((8, 4)), np.zeros((8, 1)), verbose=0)


if __name__ == "__main__":
    main()
