# /// specimen
# cause = "loss_shape_mismatch"
# also = []
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "loss_shape_mismatch_sparse"
# needs = []
# ///
"""Categorical cross-entropy wants one column per class, but the labels are class numbers: Keras stops before the first step."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


def build_model():
    inputs = keras.Input((14, 14, 1))
    hidden = keras.layers.Conv2D(8, 3, activation="relu")(inputs)
    outputs = keras.layers.Dense(10, activation="softmax")(keras.layers.Flatten()(hidden))
    return keras.Model(inputs, outputs)


images, labels = load_digits()
model = build_model()
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(images, labels, batch_size=32, epochs=10, verbose=2)
