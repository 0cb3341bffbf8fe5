# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "validation_endless"
# needs = []
# ///
"""Validation takes longer than an epoch of training, because there is more held-out data; it ends each time."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

BATCH = 32


def pictures(count: int):
    random = np.random.default_rng(count)
    inputs = random.random((count, 32, 32, 3), dtype=np.float32)
    return inputs, (inputs.mean(axis=(1, 2, 3)) > 0.5).astype("float32")


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    train = tf.data.Dataset.from_tensor_slices(pictures(800)).shuffle(800).batch(BATCH).prefetch(2)
    held_out = tf.data.Dataset.from_tensor_slices(pictures(4_000)).repeat().batch(BATCH).prefetch(2)
    model.fit(train, epochs=2, validation_data=held_out, validation_steps=500)


if __name__ == "__main__":
    main()
