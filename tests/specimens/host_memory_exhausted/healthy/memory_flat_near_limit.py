# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "host_memory_exhausted"
# needs = ["root", "cgroup-memory"]
# ///
"""The whole set lies in memory and fills 85 % of what the container has, from the start to the end, and no more."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(1_500_000_000)

import keras  # noqa: E402
import numpy as np  # noqa: E402


def load_images(count: int) -> tuple[np.ndarray, np.ndarray]:
    images = np.empty((count, 128, 128, 3), dtype=np.float32)
    labels = np.arange(count) % 4
    for index in range(count):
        images[index] = np.random.default_rng(index).random((128, 128, 3), dtype=np.float32) * (labels[index] + 1) / 4
    return images, labels


class Batches(keras.utils.PyDataset):
    """Batches out of the arrays, without a copy of the whole."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        super().__init__()
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images) // 16

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.images[index * 16 : index * 16 + 16], self.labels[index * 16 : index * 16 + 16]


def main() -> None:
    images, labels = load_images(4_600)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(Batches(images, labels), epochs=6, verbose=2)


if __name__ == "__main__":
    main()
