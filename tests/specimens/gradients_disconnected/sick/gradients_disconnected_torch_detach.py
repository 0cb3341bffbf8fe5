# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "DETACHED HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "auxiliary_head_unused"
# needs = []
# ///
"""The image tower's output is detached, left over from debugging: the tower feeds the loss but never learns."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class Detach(keras.layers.Layer):
    def call(self, inputs):
        return inputs.detach()  # DETACHED HERE


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def build_model():
    image = keras.Input((96,), name="image")
    text = keras.Input((24,), name="text")
    image_tower = keras.layers.Dense(64, activation="relu", name="image_dense")(image)
    image_tower = keras.layers.Dense(32, activation="relu", name="image_features")(image_tower)
    image_tower = Detach()(image_tower)
    text_tower = keras.layers.Dense(32, activation="relu", name="text_features")(text)
    joined = keras.layers.Concatenate()([image_tower, text_tower])
    outputs = keras.layers.Dense(4, activation="softmax", name="classes")(joined)
    return keras.Model([image, text], outputs)


def make_pairs(count=3000, seed=7):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, count)
    image = rng.normal(size=(count, 96)).astype("float32") + labels[:, None] * 0.3
    text = rng.normal(size=(count, 24)).astype("float32")
    return [image, text], labels


inputs, labels = make_pairs()
model = build_model()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(inputs, labels, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
