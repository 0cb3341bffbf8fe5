# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 50
# near = "host_memory_leaking"
# needs = []
# ///
"""A PyDataset keeps each decoded image in a dict: memory grows evenly through the whole first epoch, then no more."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"

import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402


class Photos(keras.utils.PyDataset):
    """Reads a photo once and keeps it."""

    def __init__(self, count: int, batch_size: int) -> None:
        super().__init__()
        self.count = count
        self.batch_size = batch_size
        self.decoded: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self.count // self.batch_size

    def photo(self, index: int) -> np.ndarray:
        if index not in self.decoded:
            time.sleep(0.004)  # reading the file
            noise = np.random.default_rng(index).random((160, 160, 3), dtype=np.float32)
            self.decoded[index] = noise * ((index % 4 + 1) / 4)
        return self.decoded[index]

    def __getitem__(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        indices = range(batch * self.batch_size, (batch + 1) * self.batch_size)
        return np.stack([self.photo(index) for index in indices]), np.array([index % 4 for index in indices])


def main() -> None:
    photos = Photos(count=2_000, batch_size=8)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(photos, epochs=16, verbose=2)


if __name__ == "__main__":
    main()
