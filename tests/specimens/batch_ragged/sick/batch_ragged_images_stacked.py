# /// specimen
# cause = "batch_ragged"
# also = []
# where = "STACKED HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "batch_ragged_resized_images"
# needs = []
# ///
"""A PyDataset of Keras stacks images as they are on the disk: some are wider than others."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def read(number: int) -> np.ndarray:
    return np.full((24, 32 if number % 10 == 9 else 24, 3), number, "float32")


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple:
        images = [read(number) for number in range(4 * index, 4 * index + 4)]
        if index == 2:
            mark()
        return np.stack(images), np.zeros((4, 1), "float32")  # STACKED HERE


def main() -> None:
    model = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(Images(), epochs=1, shuffle=False, verbose=0)


if __name__ == "__main__":
    main()
