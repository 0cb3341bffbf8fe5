# /// specimen
# cause = "state_dict_mismatch"
# also = []
# where = "LOADED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "state_dict_mismatch_without_head"
# needs = []
# ///
"""Weights of a model with 21 classes are loaded into one with 2: strict=False skips names, and no shapes."""

import io
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Classifier(nn.Module):
    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, num_classes)


def main() -> None:
    file = io.BytesIO()
    torch.save(Classifier(21).state_dict(), file)
    file.seek(0)
    model = Classifier(2)
    mark()
    model.load_state_dict(torch.load(file), strict=False)  # LOADED HERE


if __name__ == "__main__":
    main()
