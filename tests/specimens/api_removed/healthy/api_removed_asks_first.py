# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "api_removed"
# needs = []
# ///
"""Code that supports several versions tries the old names first, and takes the new ones where they are gone."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

try:
    FLOAT = np.float
except AttributeError:
    FLOAT = np.float32

try:
    from keras.utils import np_utils

    to_categorical = np_utils.to_categorical
except ImportError:
    to_categorical = keras.utils.to_categorical


def main() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    try:
        optimizer = keras.optimizers.SGD(lr=0.01)
    except ValueError:
        optimizer = keras.optimizers.SGD(learning_rate=0.01)
    model.compile(optimizer=optimizer, loss="categorical_crossentropy")
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(256, 4)).astype(FLOAT), to_categorical(rng.integers(0, 3, 256), 3), epochs=2, verbose=0)


if __name__ == "__main__":
    main()
