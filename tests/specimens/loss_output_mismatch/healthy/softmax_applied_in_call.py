# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_output_mismatch"
# needs = []
# ///
"""An own model class whose last layer is linear; the softmax is applied by hand at the end of call."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from keras import ops

class Classifier(keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.hidden = keras.layers.Dense(48, activation="relu")
        self.scores = keras.layers.Dense(classes)

    def call(self, inputs):
        return ops.softmax(self.scores(self.hidden(inputs)))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_leaves(count=6000, seed=36):
    rng = np.random.default_rng(seed)
    species = rng.integers(0, 8, count)
    return (rng.normal(size=(8, 36))[species] + rng.normal(size=(count, 36))).astype("float32"), species


leaves, species = load_leaves()
model = Classifier(8)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(leaves, species, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
