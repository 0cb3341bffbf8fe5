# /// specimen
# cause = "loss_not_finite"
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "empty_image_guarded"
# needs = []
# ///
"""One all-black image becomes 0 / 0; ReLU turns the NaN into 0, so the loss stays finite while the weights are ruined."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if batch == 9000 // 32:
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_images(count=12000, seed=1):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, count)
    images = rng.integers(0, 120, size=(count, 16, 16, 1))
    for row, which in enumerate(kind):
        images[row, 4 * which : 4 * which + 4] += 60
    images[9000] = 0  # the camera was covered
    return images.astype("uint8"), kind


def standardise(image, kind):
    image = tf.cast(image, tf.float32)
    return (image - tf.reduce_mean(image)) / tf.math.reduce_std(image), kind


images, kind = load_images()
dataset = tf.data.Dataset.from_tensor_slices((images, kind)).map(standardise).batch(32).prefetch(2)
model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=200, verbose=2, callbacks=[TimeBudget(22)])
