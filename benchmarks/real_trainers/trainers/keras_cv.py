"""KerasCV: RetinaNet in a program of one's own, `fit` on a tf.data set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.classification import CASES, NO_CLASS, PROGRAMS, SLOW_S
from benchmarks.real_trainers.trainer import Case, Trainer


def prepare(folder: Path, fault: str, python: str) -> Case:
    data = folder / "data"
    pictures.write_shapes(data)
    all_pictures, names = pictures.read_coco(data)
    spoiled = pictures.spoil(all_pictures, fault)
    rows: list[dict[str, Any]] = [
        {"image": path.name, "boxes": [box[:4] for box in boxes], "classes": [names.index(box[4]) for box in boxes]}
        for path, boxes in all_pictures
        if boxes or path == spoiled
    ]
    if fault == "label_unknown":
        with_boxes = [row for row in rows if row["boxes"]]
        with_boxes[len(with_boxes) // 2]["classes"][0] = NO_CLASS
    (folder / "train.json").write_text(json.dumps(rows))
    target = shutil.copy(PROGRAMS / "keras_cv_train.py", folder / "train.py")
    lines = Path(target).read_text().splitlines()
    maps = [number for number, line in enumerate(lines, 1) if "tf.io.read_file(" in line or ".map(read" in line]
    where, images, options = "", all_pictures[0].path.parent, []
    if fault in {"input_blocked", "image_corrupt", "input_slow"}:
        where = rf"train\.py:(?:{'|'.join(map(str, maps))})\b|{spoiled.name}"
    elif fault == "pattern_empty":
        images, where = data / "imgs", "imgs"
    elif fault == "learning_rate":
        options = ["--learning-rate", "1e8", "--epochs", "6"]
    if fault in {"killed", "input_slow"}:
        options = ["--epochs", "400"]
    command = [python, "train.py", "--images", str(images), "--labels", "train.json", *options]
    return Case(command, where, environ={"KERAS_BACKEND": "tensorflow"}, seconds=SLOW_S if fault == "input_slow" else 0.0)


TRAINER = Trainer(
    name="KerasCV 0.9, RetinaNet",
    python="3.11",
    versions="TensorFlow 2.17, Keras 3.5, Python 3.11",
    installs=("keras-cv==0.9.0 tensorflow-cpu==2.17.1 keras==3.5.0",),
    cases=CASES,
    prepare=prepare,
)
