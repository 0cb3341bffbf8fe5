"""torchvision: SSDlite in a program that is written as the reference scripts for detection are.

PyPI has torchvision with operators for CUDA alone, which do not load beside a PyTorch for CPUs. Its last version that can be
imported without them is taken: a training of SSDlite needs none.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.classification import CASES, NO_CLASS, PROGRAMS, SLOW_S
from benchmarks.real_trainers.trainer import Case, Trainer


def prepare(folder: Path, fault: str, python: str) -> Case:
    data = folder / "data"
    pictures.write_shapes(data)
    all_pictures, _ = pictures.read_coco(data)
    spoiled = pictures.spoil(all_pictures, fault)
    annotations = next(data.rglob("*.json"))
    target = shutil.copy(PROGRAMS / "torchvision_detection_train.py", folder / "train.py")
    lines = Path(target).read_text().splitlines()
    reads = next(number for number, line in enumerate(lines, 1) if "Image.open(" in line)
    where, images, options = "", all_pictures[0].path.parent, []
    if fault == "label_unknown":
        plain = json.loads(annotations.read_text())
        plain["annotations"][len(plain["annotations"]) // 2]["category_id"] = NO_CLASS
        annotations.write_text(json.dumps(plain))
    elif fault in {"input_blocked", "image_corrupt", "input_slow"}:
        where = rf"train\.py:{reads}\b|{spoiled.name}"
    elif fault == "pattern_empty":
        images, where = data / "imgs", "imgs"
    elif fault == "learning_rate":
        options = ["--lr", "1e6"]
    if fault in {"killed", "input_slow"}:
        options = ["--epochs", "400"]
    command = [python, "train.py", "--images", str(images), "--annotations", str(annotations), *options]
    return Case(command, where, seconds=SLOW_S if fault == "input_slow" else 0.0)


TRAINER = Trainer(
    name="torchvision 0.15 without its operators, SSDlite, in the style of the reference scripts",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=("torch==2.13.0 pillow numpy requests", "--no-deps torchvision==0.15.2"),
    cases=CASES,
    prepare=prepare,
)
