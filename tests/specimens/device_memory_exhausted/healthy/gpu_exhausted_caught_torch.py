# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "device_memory_exhausted"
# needs = ["gpu"]
# ///
"""Looks for the largest batch that fits: PyTorch's out-of-memory error is caught, the batch is made smaller, it trains."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import time  # noqa: E402

import keras  # noqa: E402
import torch  # noqa: E402

WIDTH = 8_192


def largest_batch(model: keras.Model, size: int) -> int:
    while True:
        try:
            model(torch.zeros(size, 16, device="cuda")).sum().backward()
            return size
        except torch.OutOfMemoryError as error:
            print(f"batch {size} does not fit: {str(error)[:80]}", flush=True)
            size //= 8
            torch.cuda.empty_cache()


def main() -> None:
    torch.manual_seed(0)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(WIDTH, activation="gelu"), keras.layers.Dense(1)])
    size = min(largest_batch(model, 16_777_216), 4_096)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    began, step = time.monotonic(), 0
    while time.monotonic() - began < 15:
        inputs = torch.randn(size, 16, device="cuda")
        loss = (model(inputs) - inputs[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(0.01)
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
