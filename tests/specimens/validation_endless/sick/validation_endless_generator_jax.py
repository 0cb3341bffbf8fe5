# /// specimen
# cause = "validation_endless"
# also = []
# where = "ENDLESS HERE"
# framework = "keras-jax"
# ends = "hangs"
# seconds = 40
# near = "validation_long_but_ends"
# needs = []
# ///
"""The validation generator loops for ever, like the training one, and no validation_steps says where to stop."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def endless(inputs: np.ndarray, batch: int):
    while True:
        for start in range(0, len(inputs), batch):
            chunk = inputs[start : start + batch]
            yield chunk, chunk.max(axis=1, keepdims=True)


class Progress(keras.callbacks.Callback):
    def on_test_begin(self, logs=None) -> None:
        mark()


def main() -> None:
    random = np.random.default_rng(1)
    train = random.normal(size=(9_600, 32)).astype("float32")
    held_out = random.normal(size=(1_600, 32)).astype("float32")
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(  # ENDLESS HERE
        endless(train, 32),
        steps_per_epoch=300,
        epochs=5,
        validation_data=endless(held_out, 32),
        verbose=2,
        callbacks=[Progress()],
    )


if __name__ == "__main__":
    main()
