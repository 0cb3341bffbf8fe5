# /// specimen
# cause = "host_memory_exhausted"
# also = ["worker_missing"]
# where = "TRAINS HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 40
# near = "memory_flat_near_limit"
# needs = ["root", "cgroup-memory"]
# ///
"""Each DataLoader worker keeps every sample it has decoded; together they outgrow the container.

The kernel kills one of them; PyTorch only says that a worker was "killed by signal: Killed".
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(1_700_000_000)

import os  # noqa: E402

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from onset import mark  # noqa: E402


class Clips(torch.utils.data.Dataset):
    """Video clips, decoded once and kept."""

    def __init__(self) -> None:
        self.decoded: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return 4_000

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.float32]:
        if index not in self.decoded:
            frames = np.random.default_rng(index).random((16, 112, 112, 3), dtype=np.float32)
            self.decoded[index] = frames
        return self.decoded[index].mean(axis=(0, 1)), np.float32(index % 2)


def main() -> None:
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="adam", loss="binary_crossentropy")
    loader = torch.utils.data.DataLoader(Clips(), batch_size=8, num_workers=2, persistent_workers=True)
    mark()
    model.fit(loader, epochs=5, verbose=2)  # TRAINS HERE


if __name__ == "__main__":
    main()
