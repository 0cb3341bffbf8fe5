# /// specimen
# cause = "weights_frozen"
# also = []
# where = "FROZEN HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "frozen_backbone_trained_head"
# needs = []
# ///
"""Every layer is frozen and "the last one" set free again, but the last layer is a softmax without weights."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def build_classifier():
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(5, name="logits"),
            keras.layers.Softmax(name="probabilities"),
        ]
    )


def prepare_for_fine_tuning(model):
    for layer in model.layers:
        layer.trainable = False  # FROZEN HERE
    model.layers[-1].trainable = True


def load_flowers(count=1500, seed=11):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, count)
    images = rng.uniform(size=(count, 16, 16, 3)).astype("float32") + labels[:, None, None, None] * 0.2
    return images, labels


images, labels = load_flowers()
model = build_classifier()
prepare_for_fine_tuning(model)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(images, labels, batch_size=32, epochs=500, verbose=2, validation_split=0.1, callbacks=[TimeBudget(20)])
