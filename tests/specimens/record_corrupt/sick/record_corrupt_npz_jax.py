# /// specimen
# cause = "record_corrupt"
# also = []
# where = "CORRUPT HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 25
# near = "bad_image_skipped"
# needs = []
# ///
"""A PyDataset reads .npz files; the disk was full while one of them was written, so the loader raises at it."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def write_chunks(folder: Path, count: int) -> list[Path]:
    random = np.random.default_rng(0)
    paths = []
    for number in range(count):
        path = folder / f"chunk_{number:03d}.npz"
        np.savez_compressed(path, inputs=random.normal(size=(64, 200)).astype("float32"))
        paths.append(path)
    broken = paths[count - 20]
    broken.write_bytes(broken.read_bytes()[:20_000])
    return paths


class Chunks(keras.utils.PyDataset):
    def __init__(self, paths: list[Path]) -> None:
        super().__init__()
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int):
        with np.load(self.paths[index]) as chunk:  # CORRUPT HERE
            inputs = chunk["inputs"]
        return inputs, inputs[:, :1] * 2


def main() -> None:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    train = Chunks(write_chunks(Path(folder), 600))
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(1024, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    model.fit(train, epochs=2, shuffle=False, verbose=2)


if __name__ == "__main__":
    main()
