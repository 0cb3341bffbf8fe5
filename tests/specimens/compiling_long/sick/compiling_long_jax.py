# /// specimen
# cause = "compiling_long"
# also = []
# where = "COMPILES HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "first_step_long"
# needs = []
# ///
"""Four hundred layers in a Python loop: JAX traces and XLA compiles each of them by itself, for minutes."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def very_deep_model(depth: int):
    inputs = keras.Input((16, 16, 4))
    hidden = inputs
    for _ in range(depth):
        branch = keras.layers.BatchNormalization()(hidden)
        branch = keras.layers.Conv2D(4, 3, padding="same", activation="gelu")(branch)
        hidden = keras.layers.Add()([hidden, branch])
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling2D()(hidden)))


def main() -> None:
    pictures = np.random.default_rng(0).normal(size=(256, 16, 16, 4)).astype("float32")
    targets = pictures.mean(axis=(1, 2, 3))[:, None]
    model = very_deep_model(400)
    model.compile("adam", "mse")
    mark()
    model.fit(pictures, targets, batch_size=32, epochs=2)  # COMPILES HERE


if __name__ == "__main__":
    main()
