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
"""Boxes are scaled to the size of their image. One annotation has three numbers for a box, and NumPy refuses the product."""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

ANNOTATIONS = {f"{number:03d}.jpg": [[0.1, 0.1, 0.5, 0.5]] for number in range(40)}
ANNOTATIONS["017.jpg"] = [[0.1, 0.1, 0.5]]


def scale(boxes: list, size: tuple) -> np.ndarray:
    rows = np.array(boxes, "float32")
    whole = np.array([size[0], size[1], size[0], size[1]], "float32")
    return rows * whole  # FAILED HERE


def main() -> None:
    targets = []
    for name, boxes in ANNOTATIONS.items():
        if name == "017.jpg":
            mark()
        targets.append(torch.from_numpy(scale(boxes, (640, 480))))
    print(len(targets))


if __name__ == "__main__":
    main()
