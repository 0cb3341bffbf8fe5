"""PyTorch-Ignite: a program of one's own with `create_supervised_trainer`."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import classification
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="PyTorch-Ignite 0.5",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=("torch==2.13.0 pytorch-ignite==0.5.5 pillow numpy",),
    cases=classification.CASES,
    prepare=partial(classification.prepare, "ignite_train", "Image.open(path)"),
)
