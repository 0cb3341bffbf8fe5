"""The Trainer of Hugging Face, with a tiny vision transformer of random weights."""

from __future__ import annotations

from functools import partial

from benchmarks.real_trainers import classification
from benchmarks.real_trainers.trainer import Trainer

TRAINER = Trainer(
    name="Hugging Face Trainer, transformers 5",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=("torch==2.13.0 'transformers>=5,<6' accelerate pillow numpy",),
    cases=classification.CASES,
    prepare=partial(classification.prepare, "transformers_train", "Image.open(path)"),
)
