# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_not_finite"
# needs = []
# ///
"""Every image is divided by its own standard deviation, with a floor for the all-black ones (tf.image does it so)."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_images(count=12000, seed=1):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, count)
    images = rng.integers(0, 120, size=(count, 16, 16, 1))
    for row, which in enumerate(kind):
        images[row, 4 * which : 4 * which + 4] += 60
    images[::500] = 0  # the camera was covered
    return images.astype("uint8"), kind


images, kind = load_images()
dataset = tf.data.Dataset.from_tensor_slices((images, kind))
dataset = dataset.map(lambda image, kind: (tf.image.per_image_standardization(image), kind)).batch(32).prefetch(2)
model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=200, verbose=2, callbacks=[TimeBudget(20)])
