# /// specimen
# cause = "validation_endless"
# also = []
# where = "ENDLESS HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 40
# near = "validation_long_but_ends"
# needs = []
# ///
"""The helper that makes the datasets calls repeat() for both. With no validation_steps the validation never ends."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def prepare(rows: int, seed: int):
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(rows, 40)).astype("float32")
    targets = np.tanh(inputs[:, :1] + inputs[:, 1:2])
    data = tf.data.Dataset.from_tensor_slices((inputs, targets))
    return data.shuffle(rows).repeat().batch(64).prefetch(tf.data.AUTOTUNE)


class Progress(keras.callbacks.Callback):
    def on_test_begin(self, logs=None) -> None:
        mark()


def main() -> None:
    model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    train = prepare(20_000, seed=0)
    validation = prepare(2_000, seed=1)
    model.fit(train, steps_per_epoch=312, epochs=10, validation_data=validation, callbacks=[Progress()])  # ENDLESS HERE


if __name__ == "__main__":
    main()
