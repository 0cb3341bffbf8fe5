# /// specimen
# cause = "program_error"
# also = []
# where = "FAILED HERE"
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "program_error_own_exit"
# needs = []
# ///
"""The configuration lacks a key. The program catches the error, prints one line of it and ends itself with an exit code."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

CONFIG = {"model": {"width": 16}, "optimizer": {"name": "sgd"}}


def make_optimizer(model: torch.nn.Module, options: dict) -> torch.optim.Optimizer:
    mark()
    return torch.optim.SGD(model.parameters(), lr=options["learning_rate"])  # FAILED HERE


def main() -> None:
    model = torch.nn.Linear(CONFIG["model"]["width"], 1)
    make_optimizer(model, CONFIG["optimizer"])


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print(f"training failed: {error!r}", file=sys.stderr)
        sys.exit(1)
