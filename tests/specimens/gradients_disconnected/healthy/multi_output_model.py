# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "gradients_disconnected"
# needs = []
# ///
"""One body and three outputs with losses of very different weight; one output is measured only and has no loss."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def build_model():
    inputs = keras.Input((24,))
    body = keras.layers.Dense(64, activation="relu")(inputs)
    body = keras.layers.Dense(64, activation="relu")(body)
    kind = keras.layers.Dense(4, activation="softmax", name="kind")(body)
    size = keras.layers.Dense(1, name="size")(body)
    certainty = keras.layers.Softmax(name="certainty")(kind)
    return keras.Model(inputs, {"kind": kind, "size": size, "certainty": certainty})


def load_objects(count=5000, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 24)).astype("float32")
    kind = np.argmax(features[:, :4], axis=1)
    size = (features[:, 4:5] * 3 + features[:, 5:6]).astype("float32")
    return features, {"kind": kind, "size": size}


model = build_model()
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss={"kind": "sparse_categorical_crossentropy", "size": "mse", "certainty": None},
    loss_weights={"kind": 1.0, "size": 0.01, "certainty": 0.0},
)
features, targets = load_objects()
targets["certainty"] = np.zeros((len(features), 4), "float32")
model.fit(features, targets, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
