# /// specimen
# cause = "program_error"
# also = []
# where = "FAILED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 30
# near = "program_error_retries"
# needs = []
# ///
"""Boxes are read from text. In one annotation a number has a comma where the others have a point, and Python refuses it."""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

ANNOTATIONS = {f"{number:03d}.jpg": "0.1 0.1 0.5 0.5" for number in range(40)}
ANNOTATIONS["017.jpg"] = "0.1 0.1 0,5 0.5"


def scale(text: str, size: tuple) -> np.ndarray:
    box = np.array([float(number) for number in text.split()], "float32")  # FAILED HERE
    return box * np.array([size[0], size[1], size[0], size[1]], "float32")


def main() -> None:
    targets = []
    for name, text in ANNOTATIONS.items():
        if name == "017.jpg":
            mark()
        targets.append(torch.from_numpy(scale(text, (640, 480))))
    print(len(targets))


if __name__ == "__main__":
    main()
