"""KerasHub on JAX: RetinaNet in a program of one's own, `fit` on a data set of Grain."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.classification import CASES, NO_CLASS, PROGRAMS
from benchmarks.real_trainers.trainer import Case, Trainer

SLOW_S = 300.0  # of these, compiling takes one or two minutes


def prepare(program: str, environ: dict[str, str], folder: Path, fault: str, python: str) -> Case:
    """For programs that take `--images FOLDER --labels FILE`, where the file is a list of images with boxes and classes."""
    data = folder / "data"
    pictures.write_shapes(data)
    all_pictures, names = pictures.read_coco(data)
    with_boxes = [picture for picture in all_pictures if picture.boxes]
    spoiled = pictures.spoil(with_boxes, fault)
    rows: list[dict[str, Any]] = [
        {"image": path.name, "boxes": [box[:4] for box in boxes], "classes": [names.index(box[4]) for box in boxes]}
        for path, boxes in with_boxes
    ]
    if fault == "label_unknown":
        rows[len(rows) // 2]["classes"][0] = NO_CLASS
    (folder / "train.json").write_text(json.dumps(rows, indent=1))
    target = shutil.copy(PROGRAMS / f"{program}.py", folder / "train.py")
    lines = Path(target).read_text().splitlines()
    reads = [number for number, line in enumerate(lines, 1) if line.endswith("# READS") or "Image.open(" in line]
    where, images, options = "", all_pictures[0].path.parent, []
    if fault in {"input_blocked", "image_corrupt", "input_slow"}:
        where = rf"train\.py:(?:{'|'.join(map(str, reads))})\b|{spoiled.name}"
    elif fault == "pattern_empty":
        images, where = data / "imgs", "imgs"
    elif fault == "learning_rate":
        options = ["--learning-rate", "1e8", "--epochs", "6"]
    if fault in {"killed", "input_slow"}:
        options = ["--epochs", "400"]
    command = [python, "train.py", "--images", str(images), "--labels", "train.json", *options]
    return Case(command, where, environ=environ, seconds=SLOW_S if fault == "input_slow" else 0.0)


def _prepare(folder: Path, fault: str, python: str) -> Case:
    return prepare("keras_hub_train", {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}, folder, fault, python)


TRAINER = Trainer(
    name="KerasHub 0.32, RetinaNet, with Grain",
    python="3.11",
    versions="Keras 3.15 on JAX 0.10, Python 3.11",
    installs=(
        "jax==0.10.0 jaxlib==0.10.0 keras==3.15.1 absl-py numpy packaging regex rich pillow kagglehub tokenizers grain",
        "--no-deps keras-hub==0.32.0",
    ),
    cases=CASES,
    prepare=_prepare,
)
