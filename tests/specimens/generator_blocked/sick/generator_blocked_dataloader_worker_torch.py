# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 35
# near = "dataloader_workers_slow_file"
# needs = ["two-processes"]
# ///
"""Keras on PyTorch, fit over a DataLoader with two worker processes. A worker waits for a file that should be unpacked by
somebody else, and looks again and again; the main process waits for the worker."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import children_die_with_me
from onset import mark

children_die_with_me()

SHARDS = Path("/nonexistent/unpacked")


class Shards(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4000

    def wait_for_shard(self, path: Path) -> None:
        while not path.exists():
            time.sleep(0.5)  # BLOCKED HERE

    def __getitem__(self, index: int):
        if index == 3500:
            mark()
            self.wait_for_shard(SHARDS / "shard7.pt")
        generator = torch.Generator().manual_seed(index)
        row = torch.randn(9, generator=generator)
        return row[:8], row[8:]


loader = torch.utils.data.DataLoader(Shards(), batch_size=8, num_workers=2)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(loader, epochs=50, verbose=2)
