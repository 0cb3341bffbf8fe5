# /// specimen
# cause = "checkpoint_refused"
# also = []
# where = "REFUSED HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 20
# near = "checkpoint_with_safe_globals_torch"
# needs = []
# ///
"""A training goes on from a checkpoint that also holds the options it was begun with, as older versions of PyTorch read it."""

import argparse
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def train(model: torch.nn.Module, rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), rate)
    for _ in range(200):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 8)).square().mean()
        loss.backward()
        optimizer.step()


def main() -> None:
    options = argparse.Namespace(rate=0.01)
    model = torch.nn.Linear(8, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.pt"
        train(model, options.rate)
        torch.save({"model": model.state_dict(), "options": options}, path)
        mark()
        checkpoint = torch.load(path)  # REFUSED HERE
        model.load_state_dict(checkpoint["model"])
        train(model, checkpoint["options"].rate)


if __name__ == "__main__":
    main()
