"""effdet: EfficientDet in a program of one's own, with its data set, its collation and its training bench."""

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
    with_boxes = [picture for picture in all_pictures if picture.boxes]
    spoiled = pictures.spoil(with_boxes, fault)
    annotations = next(data.rglob("*.json"))
    plain = json.loads(annotations.read_text())
    where, images, options = "", all_pictures[0].path.parent, []
    for row in plain["images"]:
        row["file_name"] = Path(row["file_name"]).name
    if fault == "label_unknown":
        plain["annotations"][len(plain["annotations"]) // 2]["category_id"] = NO_CLASS
    elif fault in {"input_blocked", "image_corrupt", "input_slow"}:
        where = rf"effdet/data/\w+\.py:\d+|{spoiled.name}"
    elif fault == "pattern_empty":
        images, where = data / "imgs", "imgs"
    elif fault == "learning_rate":
        options = ["--lr", "1e8"]
    if fault in {"killed", "input_slow"}:
        options = ["--epochs", "400"]
    annotations.write_text(json.dumps(plain))
    shutil.copy(PROGRAMS / "effdet_train.py", folder / "train.py")
    command = [python, "train.py", "--images", str(images), "--annotations", str(annotations), *options]
    without_nms = {"PYTORCH_JIT": "0"}  # which would compile functions that need the operators
    return Case(command, where, environ=without_nms, seconds=SLOW_S if fault == "input_slow" else 0.0)


TRAINER = Trainer(
    name="effdet 0.4, EfficientDet-Lite0",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=(
        'torch==2.13.0 pillow "numpy<2" requests pyyaml omegaconf pycocotools huggingface_hub safetensors',
        "--no-deps torchvision==0.15.2 timm==0.9.16 effdet==0.4.1",  # of torchvision, what can be imported without CUDA
    ),
    cases=CASES,
    prepare=prepare,
)
