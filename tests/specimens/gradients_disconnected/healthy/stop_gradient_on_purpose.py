# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "gradients_disconnected"
# needs = []
# ///
"""A side head reads the body's features through stop_gradient on purpose: head and body both learn, each from its loss."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import ops


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


class StopGradient(keras.layers.Layer):
    def call(self, inputs):
        return ops.stop_gradient(inputs)


def build_model():
    inputs = keras.Input((20,))
    body = keras.layers.Dense(48, activation="relu", name="body")(inputs)
    main = keras.layers.Dense(3, activation="softmax", name="main")(body)
    probe = keras.layers.Dense(1, name="probe")(StopGradient()(body))
    return keras.Model(inputs, {"main": main, "probe": probe})


def load_scans(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    scans = rng.normal(size=(count, 20)).astype("float32")
    return scans, {"main": np.argmax(scans[:, :3], axis=1), "probe": scans[:, 3:4] ** 2}


model = build_model()
model.compile(optimizer="adam", loss={"main": "sparse_categorical_crossentropy", "probe": "mse"})
model.fit(*load_scans(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
