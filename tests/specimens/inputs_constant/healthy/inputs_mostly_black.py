# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "inputs_constant"
# needs = []
# ///
"""Pictures of the night sky: one pixel in a hundred is lit, and where it stands tells the class."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 3000)
images = np.zeros((3000, 16, 16, 1), "float32")
for image, label in zip(images, labels, strict=True):
    top, left = 8 * (label // 2), 8 * (label % 2)
    image[top + rng.integers(0, 8, 3), left + rng.integers(0, 8, 3)] = 1.0
layers = keras.layers
model = keras.Sequential(
    [layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(32, activation="relu"), layers.Dense(4, "softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=16, epochs=12, verbose=2)
