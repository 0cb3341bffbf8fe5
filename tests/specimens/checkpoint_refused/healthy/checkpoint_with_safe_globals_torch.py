# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 20
# near = "checkpoint_refused"
# needs = []
# ///
"""A training that allows the class its checkpoint holds, after a first try that it catches."""

import argparse
import pickle
import tempfile
from pathlib import Path

import torch


def train(model: torch.nn.Module, rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), rate)
    for _ in range(200):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 8)).square().mean()
        loss.backward()
        optimizer.step()


def load(path: Path) -> dict:
    try:
        return torch.load(path)
    except pickle.UnpicklingError:
        torch.serialization.add_safe_globals([argparse.Namespace])
        return torch.load(path)


def main() -> None:
    options = argparse.Namespace(rate=0.01)
    model = torch.nn.Linear(8, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.pt"
        train(model, options.rate)
        torch.save({"model": model.state_dict(), "options": options}, path)
        checkpoint = load(path)
        model.load_state_dict(checkpoint["model"])
        train(model, checkpoint["options"].rate)


if __name__ == "__main__":
    main()
