# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "host_memory_exhausted"
# needs = []
# ///
"""Looks for the largest batch that fits by trying: MemoryError and PyTorch's allocator error are caught, as meant."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402


def largest_batch(model: keras.Model, first: int) -> int:
    size = first
    while size > 1:
        try:
            model(torch.zeros(size, 64))
            return size
        except (MemoryError, RuntimeError) as error:
            print(f"batch {size} does not fit: {error}"[:120], flush=True)
            size //= 1_000_000
    return size


def reserve_replay_memory(rows: int) -> np.ndarray:
    while True:
        try:
            return np.zeros((rows, 64), dtype=np.float32)
        except MemoryError as error:
            print(error, flush=True)
            rows //= 1_000


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
    size = min(largest_batch(model, 10**12), 128)
    replay = reserve_replay_memory(10**12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    began, step = time.monotonic(), 0
    while time.monotonic() - began < 20:
        inputs = torch.randn(size, 64)
        loss = (model(inputs) - inputs[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        replay[step % 1_000] = inputs[0]
        step += 1
        if step % 500 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
