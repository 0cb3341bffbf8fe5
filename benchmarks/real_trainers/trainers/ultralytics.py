"""Ultralytics: `yolo detect train` with a data set in its own layout.

It looks at all images before it trains, and leaves out those that it cannot read and those with a class outside the list. So an
image that does not answer blocks that look, and a damaged one only hurts if it becomes so later.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.real_trainers import pictures
from benchmarks.real_trainers.pictures import Picture
from benchmarks.real_trainers.trainer import Case, Trainer

NO_CLASS = 11
SLOW_S = 150.0
_SMALL = ["model=yolo26n.yaml", "imgsz=96", "device=cpu", "pretrained=False", "val=False", "nms=False", "plots=False"]
_OFFLINE = {"YOLO_OFFLINE": "true"}


def prepare(folder: Path, fault: str, python: str) -> Case:
    data = folder / "data"
    pictures.write_shapes(data, "yolo")
    images = [Picture(path, []) for path in sorted(data.glob("images/*.jpg"))]
    spoiled, where, options, when_training = images[len(images) // 2].path, "", ["epochs=12", "batch=4", "workers=0"], None
    one_by_one = ["epochs=100", "batch=1", "workers=2"]  # else it keeps all images in memory
    if fault in {"input_blocked", "input_slow"}:
        pictures.spoil(images, fault)
    if fault in {"input_blocked", "input_blocked_later", "image_corrupt"}:
        where = rf"{spoiled.name}|ultralytics/(?:data|utils)/\w+\.py:\d+"
    if fault == "input_blocked_later":
        options, when_training = one_by_one, partial(pictures.block, spoiled)
    elif fault == "image_corrupt":
        options, when_training = one_by_one, partial(pictures.overwrite, spoiled)
    elif fault == "input_slow":
        options = ["epochs=100", "batch=1", "workers=0"]
    elif fault == "label_unknown":
        label = data / "labels" / f"{spoiled.stem}.txt"
        label.write_text(f"{NO_CLASS} 0.5 0.5 0.2 0.2\n")
    elif fault == "learning_rate":
        options = ["epochs=20", "batch=4", "workers=0", "optimizer=SGD", "lr0=1.0", "momentum=0.98", "warmup_epochs=0", "nbs=4"]
    elif fault == "killed":
        options = ["epochs=400", "batch=4", "workers=0"]
    train = "imgs" if fault == "pattern_empty" else "images"
    where = "imgs" if fault == "pattern_empty" else where
    names = [line for line in next(data.glob("*.yaml")).read_text().splitlines() if line.startswith(("nc", "names", "  "))]
    described = folder / "shapes.yaml"
    described.write_text("\n".join([f"path: {data}", f"train: {train}", "val: images", *names]) + "\n")
    settings = folder / "settings"
    settings.mkdir()
    (settings / "Arial.ttf").touch()  # it is fetched where it is missing
    command = [python, str(Path(python).parent / "yolo"), "detect", "train", f"data={described}", f"project={folder / 'out'}"]
    return Case(
        [*command, *_SMALL, *options],
        where,
        environ={**_OFFLINE, "YOLO_CONFIG_DIR": str(settings)},
        when_training=when_training,
        prints=r"\b1/100 +0G ",
        seconds=SLOW_S if fault == "input_slow" else 0.0,
        is_handled=fault == "label_unknown",
    )


TRAINER = Trainer(
    name="Ultralytics 8.4, YOLO26n",
    python="3.11",
    versions="PyTorch 2.13, Python 3.11",
    installs=(
        "torch==2.13.0 numpy matplotlib opencv-python-headless pillow pyyaml requests psutil polars ultralytics-thop",
        "--no-deps torchvision==0.15.2 ultralytics==8.4.190",  # of torchvision, what can be imported without CUDA
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
