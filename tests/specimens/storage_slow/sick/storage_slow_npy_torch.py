# /// specimen
# cause = "storage_slow"
# also = ["input_starved"]
# where = "SLOW HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "steady_disk_prefetch"
# needs = ["root", "cgroup-io"]
# ///
"""A PyDataset loads one .npy file per sample from a disk that reads 2 MB a second."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402
from slow_disk import forget_cached, limit_reading  # noqa: E402


def write_scans(folder: Path, count: int) -> list[Path]:
    random = np.random.default_rng(0)
    paths = [folder / f"scan_{number:04d}.npy" for number in range(count)]
    for path in paths:
        np.save(path, random.integers(0, 255, size=(300, 400), dtype=np.uint8))
        forget_cached(path)
    return paths


class Scans(keras.utils.PyDataset):
    def __init__(self, paths: list[Path], batch: int) -> None:
        super().__init__(workers=2, use_multiprocessing=False)
        self.paths = paths
        self.batch = batch

    def __len__(self) -> int:
        return len(self.paths) // self.batch

    def __getitem__(self, index: int):
        chosen = self.paths[index * self.batch : (index + 1) * self.batch]
        scans = [np.load(path) for path in chosen]  # SLOW HERE
        inputs = np.stack([scan[::10, ::10].astype("float32") / 255 for scan in scans])
        return inputs, inputs.mean(axis=(1, 2))[:, None]


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        train = Scans(write_scans(Path(folder), 560), batch=8)
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(np.zeros((8, 30, 40), "float32"), np.zeros((8, 1), "float32"), verbose=0)
        limit_reading(Path(folder), 2_000_000)
        mark()
        model.fit(train, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
