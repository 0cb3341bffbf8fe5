# /// specimen
# cause = "device_memory_fragmented"
# also = []
# where = "NEEDS ONE PIECE HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 45
# near = "gpu_exhausted_caught_torch"
# needs = ["gpu"]
# ///
"""Features of many videos fill a big block of the card; every second video is dropped, then the rest are joined.

Half of the block is free, but in holes of one video each, and joining needs one piece.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import torch  # noqa: E402
from onset import mark  # noqa: E402

VIDEOS, WIDTH = 120, 1_024


def warm_up(model: keras.Model, rows: int) -> None:
    """One pass over the largest possible batch, as it is often done to find out whether it fits."""
    with torch.no_grad():
        print("warm-up", tuple(model(torch.zeros(8, WIDTH, device="cuda")).shape))
    torch.empty(rows, WIDTH, device="cuda")


def train_step(model: keras.Model, optimizer: torch.optim.Optimizer, video: torch.Tensor) -> float:
    batch = video[:256]
    loss = (model(batch) - batch.mean(dim=1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> None:
    model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(1)])
    free_bytes, _ = torch.cuda.mem_get_info()
    rows = int(free_bytes * 0.88) // (WIDTH * 4)
    warm_up(model, rows)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    videos: dict[int, torch.Tensor] = {}
    for index in range(VIDEOS):
        videos[index] = torch.rand(rows // (VIDEOS + 2), WIDTH, device="cuda")
        loss = train_step(model, optimizer, videos[index])
        if index % 20 == 0:
            print(f"video {index} loss {loss:.4f}", flush=True)
    for index in range(0, VIDEOS, 2):
        del videos[index]
    mark()
    bank = torch.cat([videos[index] for index in sorted(videos)[:40]])  # NEEDS ONE PIECE HERE
    print("bank", tuple(bank.shape))


if __name__ == "__main__":
    main()
