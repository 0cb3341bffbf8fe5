"""keras-retinanet 1.0.0 with two worker processes, on TensorFlow 2.8: `retinanet-train` with a data set of CSV files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.trainer import Case, Trainer

_MODEL = ["--backbone", "mobilenet128_0.25", "--no-weights", "--no-snapshots", "--no-evaluation"]
_SIZES = ["--image-min-side", "128", "--image-max-side", "128", "--batch-size", "2"]

SLOW_S = 150.0


def prepare(folder: Path, fault: str, python: str) -> Case:
    data = folder / "data"
    pictures.write_shapes(data)
    all_pictures, names = pictures.read_coco(data)
    spoiled = pictures.spoil(all_pictures, fault)
    images = data / "imgs" if fault == "pattern_empty" else all_pictures[0].path.parent
    scale = pictures.SLOW_SIDE_PX / 160 if fault == "input_slow" else 1.0
    annotations = folder / "train.csv"
    rows = [(images / path.name, box) for path, boxes in all_pictures for box in boxes]
    lines = [",".join([str(path), *(str(int(number * scale)) for number in box[:4]), box[4]]) for path, box in rows]
    middle, where = len(lines) // 2, ""
    if fault == "label_unknown":
        lines[middle] = f"{lines[middle].rpartition(',')[0]},pentagram"
        where = rf"train\.csv.*{middle + 1}\b|pentagram"
    elif fault == "pattern_empty":
        where = "imgs|csv_generator.py"
    elif fault in {"input_blocked", "input_blocked_later", "image_corrupt"}:
        where = rf"{spoiled.name}|utils/image\.py:\d+"
    annotations.write_text("\n".join(lines) + "\n")
    (folder / "classes.csv").write_text("".join(f"{name},{number}\n" for number, name in enumerate(names)))
    steps, epochs = (500, 2) if fault in {"killed", "input_slow", "input_blocked_later"} else (12, 2)
    rate = "1e6" if fault == "learning_rate" else "1e-4"
    later = partial(pictures.block, spoiled) if fault == "input_blocked_later" else None
    workers = ["--workers", "2", "--multiprocessing"] if fault != "input_blocked" else ["--workers", "1"]
    options = ["--steps", str(steps), "--epochs", str(epochs), "--lr", rate, *workers]
    command = [str(Path(python).parent / "retinanet-train"), *_MODEL, *_SIZES, *options, "csv", str(annotations)]
    seconds = SLOW_S if fault == "input_slow" else 0.0
    return Case([python, *command, str(folder / "classes.csv")], where, when_training=later, seconds=seconds)


TRAINER = Trainer(
    name="keras-retinanet 1.0.0, worker processes",
    python="3.9",
    versions="TensorFlow 2.8.4, Keras 2.8, Python 3.9",
    installs=(
        '"pip<24.1" wheel "setuptools<66"',
        'tensorflow-cpu==2.8.4 "protobuf<3.20" "numpy<1.24" Cython keras-resnet==0.2.0 progressbar2 "pillow<10"',
        '"opencv-python-headless<4.7" "numpy<1.24"',
        "--no-deps --no-build-isolation keras-retinanet==1.0.0",
    ),
    cases=(
        "healthy",
        "input_blocked",
        "input_blocked_later",
        "input_slow",
        "learning_rate",
        "image_corrupt",
        "label_unknown",
        "pattern_empty",
        "killed",
    ),
    prepare=prepare,
)
