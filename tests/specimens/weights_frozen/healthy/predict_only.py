# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "weights_frozen"
# needs = []
# ///
"""Only predict, over and over: no training, no loss, no gradient, no change of any weight."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def build_model():
    return keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def camera_frames(seed=0):
    rng = np.random.default_rng(seed)
    while True:
        yield rng.uniform(size=(16, 64, 64, 3)).astype("float32")


model = build_model()
end = time.monotonic() + 18
counts = np.zeros(10, int)
for number, frames in enumerate(camera_frames()):
    scores = model.predict(frames, verbose=0)
    counts += np.bincount(scores.argmax(axis=1), minlength=10)
    if number % 50 == 0:
        print(f"{number * 16} frames: {counts.tolist()}", flush=True)
    if time.monotonic() > end:
        break
