"""The cases of a program that reads images of classes: the class of an image is that of its first shape."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.trainer import Case

PROGRAMS = Path(__file__).parent / "programs"
CASES = ("healthy", "input_blocked", "input_slow", "learning_rate", "image_corrupt", "label_unknown", "pattern_empty", "killed")
NO_CLASS = 11
SLOW_S = 300.0  # on a busy machine such images take several seconds each


def prepare(program: str, reads_at: str, folder: Path, fault: str, python: str) -> Case:
    """`reads_at`: what stands in the line of the program that reads an image."""
    data = folder / "data"
    pictures.write_shapes(data)
    all_pictures, names = pictures.read_coco(data)
    spoiled = pictures.spoil(all_pictures, fault)
    target = shutil.copy(PROGRAMS / f"{program}.py", folder / "train.py")
    lines = Path(target).read_text().splitlines()
    reads = next(number for number, line in enumerate(lines, 1) if reads_at in line)
    rows = [[str(path.relative_to(folder)), names.index(boxes[0][4]) if boxes else 0] for path, boxes in all_pictures]
    where, options = "", []
    if fault == "label_unknown":
        rows[len(rows) // 2][1] = NO_CLASS
        where = rf"train\.csv:{len(rows) // 2 + 1}\b"
    elif fault in {"input_blocked", "image_corrupt"}:
        where = rf"train\.py:{reads}\b|{spoiled.name}"
    elif fault == "pattern_empty":
        options, where = ["--images", "data/imgs/*.jpg"], r"data/imgs/\*\.jpg"
    elif fault == "learning_rate":
        options = ["--learning-rate", "1e12", "--epochs", "6"]
    elif fault in {"killed", "input_slow"}:
        options = ["--epochs", "400"]
    if fault == "input_slow":
        where = rf"train\.py:{reads}\b"
    (folder / "train.csv").write_text("".join(f"{path},{number}\n" for path, number in rows))
    return Case([python, "train.py", *options], where, seconds=SLOW_S if fault == "input_slow" else 0.0)
