# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "program_error"
# needs = []
# ///
"""Early stopping by an exception of the program's own: its main function catches it and ends with an exit code that means 'stopped'."""

import sys

import torch


class StopTraining(Exception):
    """Raised where the loss has not fallen for long enough."""


def train() -> None:
    weight = torch.zeros(1, requires_grad=True)
    best, waited = float("inf"), 0
    while True:
        loss = float((weight - 1).detach().abs())
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        if waited > 5:
            raise StopTraining(f"the loss stays at {best}")


try:
    train()
except StopTraining as reason:
    print(reason)
    sys.exit(4)
