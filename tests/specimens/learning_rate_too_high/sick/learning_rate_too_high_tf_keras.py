# /// specimen
# cause = "learning_rate_too_high"
# also = ["units_dead"]
# where = "RATE HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 35
# near = "batch_size_one_noisy"
# needs = []
# ///
"""A text-book rate for another optimiser, 0.5 with Adam, on a small convolutional net: the loss jumps about far above guessing."""

import os
import sys
import time
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(tf_keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


tf_keras.utils.set_random_seed(3)  # some seeds have luck
images, labels = load_digits()
model = tf_keras.Sequential(
    [
        tf_keras.layers.Conv2D(16, 3, activation="relu", input_shape=(14, 14, 1)),
        tf_keras.layers.Conv2D(16, 3, activation="relu"),
        tf_keras.layers.Flatten(),
        tf_keras.layers.Dense(10),
    ]
)
loss = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=tf_keras.optimizers.Adam(0.5), loss=loss, metrics=["accuracy"])  # RATE HERE
mark()
model.fit(images, labels, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(22)])
