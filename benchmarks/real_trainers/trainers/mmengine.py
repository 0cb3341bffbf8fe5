"""MMEngine: a program of one's own with `Runner.train`."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import classification
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="MMEngine 0.10, Runner",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=('torch==2.13.0 mmengine==0.10.7 pillow "numpy<2" "setuptools<81" "opencv-python<4.12"',),
    cases=classification.CASES,
    prepare=partial(classification.prepare, "mmengine_train", "Image.open(path)"),
)
