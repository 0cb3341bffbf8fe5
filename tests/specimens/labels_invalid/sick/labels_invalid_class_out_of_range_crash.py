# /// specimen
# cause = "labels_invalid"
# also = []
# where = "FIT WITH BAD LABELS"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 20
# near = "softmax_over_two"
# needs = []
# ///
"""A late part of the data set has class 10 in a net of 10 outputs (0 to 9): TensorFlow stops with an error there."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


images, labels = load_digits()
labels[7000:] += 1  # a second annotator counted from one
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32).prefetch(2)
model = keras.Sequential(
    [
        keras.Input((14, 14, 1)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(dataset, epochs=3, verbose=2)  # FIT WITH BAD LABELS
