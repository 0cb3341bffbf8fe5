# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "compiling_long"
# needs = []
# ///
"""Forty layers take XLA some 15 s to compile; every step after the first is quick."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


def deep_model(depth: int):
    inputs = keras.Input((16, 16, 4))
    hidden = inputs
    for _ in range(depth):
        branch = keras.layers.BatchNormalization()(hidden)
        branch = keras.layers.Conv2D(4, 3, padding="same", activation="gelu")(branch)
        hidden = keras.layers.Add()([hidden, branch])
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling2D()(hidden)))


def main() -> None:
    pictures = np.random.default_rng(0).normal(size=(480, 16, 16, 4)).astype("float32")
    targets = pictures.mean(axis=(1, 2, 3))[:, None]
    model = deep_model(40)
    model.compile("adam", "mse")
    model.fit(pictures, targets, batch_size=16, epochs=5, verbose=2)


if __name__ == "__main__":
    main()
