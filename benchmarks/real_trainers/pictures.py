"""Tiny data sets of coloured shapes, written by Unstall itself, and what can be wrong with a file of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

NUM_IMAGES, IMAGE_SIZE, MAX_SHAPES = 24, "160x160", 3
SLOW_SIDE_PX = 5000  # an image that takes far longer to read than a tiny model takes for a step


class Picture(NamedTuple):
    path: Path
    boxes: list[tuple[float, float, float, float, str]]  # xmin, ymin, xmax, ymax, class


def write_shapes(folder: Path, format: str = "coco", splits: str = "", image_size: str = IMAGE_SIZE) -> None:
    size = ["--num-images", str(NUM_IMAGES), "--image-size", image_size, "--max-shapes", str(MAX_SHAPES)]
    command = [sys.executable, "-m", "unstall", "data", "shapes", *size, "--format", format, "--splits", splits, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read_coco(folder: Path) -> tuple[list[Picture], list[str]]:
    """The pictures and the names of the classes of what `write_shapes` has written."""
    plain = json.loads(next(folder.rglob("*.json")).read_text())
    names = {row["id"]: row["name"] for row in plain["categories"]}
    boxes: dict[int, list[tuple[float, float, float, float, str]]] = {}
    for row in plain["annotations"]:
        x, y, width, height = row["bbox"]
        boxes.setdefault(row["image_id"], []).append((x, y, x + width, y + height, names[row["category_id"]]))
    paths = {path.name: path for path in folder.rglob("*.jpg")}
    return [Picture(paths[Path(row["file_name"]).name], boxes.get(row["id"], [])) for row in plain["images"]], list(
        names.values()
    )


def spoil(pictures: list[Picture], fault: str) -> Path:
    """Makes the file in the middle one that cannot be read, or that never answers; or all of them slow to read."""
    spoiled = pictures[len(pictures) // 2].path
    if fault == "input_blocked":
        block(spoiled)
    elif fault == "image_corrupt":
        whole = spoiled.read_bytes()
        spoiled.write_bytes(whole[: len(whole) // 2])
    elif fault == "input_slow":
        for picture in pictures:
            _enlarge(picture.path)
    return spoiled


def block(path: Path) -> None:
    """A file that never answers."""
    path.unlink()
    os.mkfifo(path)


def overwrite(path: Path) -> None:
    """A file that is no image any more."""
    path.write_bytes(bytes(1000))


def _enlarge(path: Path) -> None:
    """The same picture with many more pixels: boxes in shares of it stay as they are."""
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").resize((SLOW_SIDE_PX, SLOW_SIDE_PX)).save(path, "JPEG", quality=95)
