# /// specimen
# cause = "inputs_constant"
# also = []
# where = "FIT HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "inputs_mostly_black"
# needs = []
# ///
"""Pixels are divided by 255 with `//`: every one of them is 0, and the network learns only how often each class comes."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 3000)
images = rng.integers(0, 60, (3000, 16, 16, 1)).astype("uint8")
for image, label in zip(images, labels, strict=True):
    top, left = 8 * (label // 2), 8 * (label % 2)
    image[top : top + 8, left : left + 8] += 120
images = images // 255
mark()
layers = keras.layers
model = keras.Sequential(
    [layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(32, activation="relu"), layers.Dense(4, "softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=16, epochs=20, verbose=2)  # FIT HERE
