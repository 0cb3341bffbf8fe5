"""fastai: a program of one's own with a `DataBlock`, which reads the images, and `Learner.fit`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.real_trainers import classification
from benchmarks.real_trainers.trainer import Case, Trainer


def prepare(folder: Path, fault: str, python: str) -> Case:
    case = classification.prepare("fastai_train", "ImageBlock,", folder, fault, python)
    reads = case.where and fault in {"input_blocked", "image_corrupt", "input_slow"}
    where = rf"{case.where}|fastai/vision/core\.py:\d+" if reads else case.where
    return replace(case, where=where, prints=r"Epoch 1/\d+ : \|")


TRAINER = Trainer(
    name="fastai 2.8",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=(
        'torch==2.13.0 "numpy<2" matplotlib pandas requests pyyaml pillow scikit-learn scipy packaging "plum-dispatch<2.10"'
        " cloudpickle fasttransform fastcore fastprogress fastdownload",
        "--no-deps torchvision==0.15.2 fastai==2.8.12",  # of torchvision, what can be imported without CUDA
    ),
    cases=classification.CASES,
    prepare=prepare,
)
