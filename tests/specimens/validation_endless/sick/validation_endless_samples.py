# /// specimen
# cause = "validation_endless"
# also = []
# where = "ENDLESS HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "validation_long_but_ends"
# needs = []
# ///
"""validation_steps is the number of pictures (6,000), not of batches (188): validation takes 32 times as long."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

BATCH = 32


def pictures(count: int):
    random = np.random.default_rng(count)
    return random.random((count, 32, 32, 3), dtype=np.float32), random.integers(0, 10, size=count)


def dataset(count: int):
    return tf.data.Dataset.from_tensor_slices(pictures(count)).repeat().batch(BATCH).prefetch(2)


class Progress(keras.callbacks.Callback):
    def on_test_begin(self, logs=None) -> None:
        mark()


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    train, validation = dataset(4_000), dataset(6_000)
    model.fit(  # ENDLESS HERE
        train,
        steps_per_epoch=4_000 // BATCH,
        epochs=5,
        validation_data=validation,
        validation_steps=6_000,
        callbacks=[Progress()],
    )


if __name__ == "__main__":
    main()
