# /// specimen
# cause = "host_memory_leaking"
# also = []
# where = "CACHE GROWS HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "memory_grows_then_stays"
# needs = []
# ///
"""A generator caches augmented images by (index, crop): the crop is random, so nothing is ever found in the cache."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"

from collections.abc import Iterator  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

IMAGES = np.random.default_rng(0).random((200, 96, 96, 3), dtype=np.float32)
IMAGES *= (np.arange(200, dtype=np.float32) % 10 + 1)[:, None, None, None] / 10  # darker and brighter ones
CROPS: dict[tuple[int, int, int], np.ndarray] = {}


def cropped(index: int, top: int, left: int) -> np.ndarray:
    key = (index, top, left)
    if key not in CROPS:
        CROPS[key] = np.flip(IMAGES[index, top : top + 40, left : left + 40], axis=1).copy()  # CACHE GROWS HERE
    return CROPS[key]


def batches(size: int = 16) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(1)
    while True:
        indices = generator.integers(0, len(IMAGES), size)
        offsets = generator.integers(0, 56, (size, 2))
        crops = [cropped(int(index), int(top), int(left)) for index, (top, left) in zip(indices, offsets, strict=True)]
        yield np.stack(crops), indices % 10


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 5, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    mark()
    model.fit(batches(), steps_per_epoch=25, epochs=150, verbose=2)


if __name__ == "__main__":
    main()
