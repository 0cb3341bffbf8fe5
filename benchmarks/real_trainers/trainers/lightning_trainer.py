"""Lightning: a program of one's own with `Trainer.fit`."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import classification
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="Lightning 2.6",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=("torch==2.13.0 'lightning>=2.6,<2.7' pillow numpy",),
    cases=classification.CASES,
    prepare=partial(classification.prepare, "lightning_train", "Image.open(path)"),
)
