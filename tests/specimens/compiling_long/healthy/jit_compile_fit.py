# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "compiling_long"
# needs = []
# ///
"""jit_compile=True: the first step takes seconds for the compiler, the others a millisecond."""

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


def build_model():
    inputs = keras.Input((16, 16, 1))
    outputs = inputs
    for width in (8, 16, 16, 32):
        outputs = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(outputs)
        outputs = keras.layers.LayerNormalization()(outputs)
    outputs = keras.layers.GlobalMaxPooling2D()(outputs)
    return keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(outputs))


def load_tiles(count=1024, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    tiles = rng.uniform(size=(count, 16, 16, 1)).astype("float32")
    tiles[np.arange(count), labels * 4] += 1
    return tiles, labels


model = build_model()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=True)
model.fit(*load_tiles(), batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
