# /// specimen
# cause = "host_memory_exhausted"
# also = []
# where = "FILLS MEMORY HERE"
# framework = "keras-tensorflow"
# ends = "is killed"
# seconds = 25
# near = "memory_flat_near_limit"
# needs = ["root", "cgroup-memory"]
# ///
"""Decodes the whole image set into one list before training; the container has less memory than the images need.

The kernel kills the process. All the user sees is the word "Killed".
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(1_400_000_000)

import zlib  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

SIDE = 512


def packed_images(count: int) -> list[bytes]:
    """The files on disk: compressed pixels."""
    generator = np.random.default_rng(0)
    tiles = [generator.integers(0, 255, (8, 8, 3), dtype=np.uint8) for _ in range(16)]
    return [zlib.compress(np.tile(tiles[index % 16], (SIDE // 8, SIDE // 8, 1)).tobytes(), 1) for index in range(count)]


def decode(packed: bytes) -> np.ndarray:
    pixels = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(SIDE, SIDE, 3)
    sharpened = np.clip(pixels * 1.5 - np.roll(pixels, 1, axis=0) * 0.5, 0, 255)
    return (sharpened / 255.0).astype(np.float32)


def load_images(files: list[bytes]) -> np.ndarray:
    images = []
    for index, packed in enumerate(files):
        images.append(decode(packed))  # FILLS MEMORY HERE
        if index % 50 == 0:
            print(f"loaded {index} of {len(files)} images", flush=True)
    return np.stack(images)


def main() -> None:
    files = packed_images(1_500)
    mark()
    images = load_images(files)
    labels = np.random.default_rng(0).integers(0, 10, len(images))
    model = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(images, labels, batch_size=16, epochs=2)


if __name__ == "__main__":
    main()
