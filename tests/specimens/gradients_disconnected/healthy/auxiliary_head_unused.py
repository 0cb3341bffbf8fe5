# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""An optional second head is off in this phase, by design: its few weights have no gradient, and Keras warns of it."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


class Segmenter(keras.Model):
    def __init__(self, use_depth_head):
        super().__init__()
        self.use_depth_head = use_depth_head
        self.body = keras.layers.Dense(64, activation="relu", name="body")
        self.classes = keras.layers.Dense(5, activation="softmax", name="classes")
        self.depth = keras.layers.Dense(1, name="depth")

    def build(self, shape):
        self.body.build(shape)
        self.classes.build((None, 64))
        self.depth.build((None, 64))
        super().build(shape)

    def call(self, inputs):
        features = self.body(inputs)
        if self.use_depth_head:
            # The depth head reads the features, but must not disturb them.
            self.add_loss(0.1 * keras.ops.mean(self.depth(keras.ops.stop_gradient(features)) ** 2))
        return self.classes(features)


def load_pixels(count=5000, seed=0):
    rng = np.random.default_rng(seed)
    pixels = rng.normal(size=(count, 12)).astype("float32")
    return pixels, np.argmax(pixels[:, :5], axis=1)


model = Segmenter(use_depth_head=False)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(*load_pixels(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
