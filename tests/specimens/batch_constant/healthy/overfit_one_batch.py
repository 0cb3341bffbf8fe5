# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "batch_constant"
# needs = []
# ///
"""The well-known sanity check: overfit one batch on purpose, with take(1).repeat(). Nothing is wrong."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    images = rng.uniform(size=(640, 20, 20, 1)).astype("float32")
    labels = rng.integers(0, 5, 640)
    return tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)


model = keras.Sequential(
    [
        keras.Input((20, 20, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(5, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
one_batch = make_dataset().take(1).repeat()
history = model.fit(one_batch, steps_per_epoch=100, epochs=25, verbose=2)
print("the model can overfit one batch:", history.history["loss"][-1] < 0.1)
