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
"""A check before the training finds too few images. The program says so and ends itself with an exit code that its scripts know."""

import sys

import torch

IMAGES = ["a.jpg", "b.jpg"]


def check(images: list) -> None:
    if len(images) < 10:
        print(f"{len(images)} images are too few", file=sys.stderr)
        sys.exit(3)


check(IMAGES)
print(torch.zeros(2))
