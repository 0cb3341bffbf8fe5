"""Pictures of a few images: on the left what is there, on the right what the detector finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unstall.data.example import DataSet, Example, Floats
from unstall.data.tools.visualization import GROUND, choose_rows, colour_of, decode_thumbnail, draw_box, save
from unstall.training.evaluate.inference import ImageDetections, InferenceModel, detections, pipeline_for

MAX = 6
MIN_SCORE = 0.3
SIDE = 480  # pixels of the longer side, at most; a smaller image is made larger, so that names can be read
GAP = 8
CAPTION = 16


class Picture(NamedTuple):
    name: str
    image: Any  # RGB, as Pillow has it


def pictures(model: InferenceModel, data: DataSet, class_names: Sequence[str], batch_size: int, most: int = MAX) -> list[Picture]:
    """The same images each time. `class_names` are the detector's; the data set's may be others."""
    some = replace(data, examples=[data.examples[row] for row in choose_rows(data, most, seed=0)])
    found = dict(detections(model, pipeline_for(model.detector, some, batch_size)))
    drawn = (_beside(some.examples[row], data.classes, found[row], class_names) for row in sorted(found))
    return [picture for picture in drawn if picture is not None]


def write(folder: Path, made: Sequence[Picture]) -> list[Path]:
    """As PNG. A disk that refuses is an OSError, or InvalidInputError with its words."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, picture in enumerate(made, start=1):
        paths.append(folder / f"{number:02d}-{Path(picture.name).stem}.png")
        save(picture.image, paths[-1])
    return paths


def _beside(example: Example, classes: Sequence[str], found: ImageDetections, class_names: Sequence[str]) -> Picture | None:
    from PIL import Image, ImageDraw

    shown = found.at_least(MIN_SCORE)
    there = [_named(classes, number) for number in example.classes.tolist()]
    answers = [
        f"{_named(class_names, number)[:17]} {score:.2f}"
        for number, score in zip(shown.classes.tolist(), shown.scores.tolist(), strict=True)
    ]
    left = _drawn(example, example.boxes, example.classes.tolist(), there)
    right = _drawn(example, shown.boxes, shown.classes.tolist(), answers)
    if left is None or right is None:
        return None
    both = Image.new("RGB", (left.width + right.width + GAP, left.height + CAPTION), GROUND)
    both.paste(left, (0, CAPTION))
    both.paste(right, (left.width + GAP, CAPTION))
    pen = ImageDraw.Draw(both)
    pen.text((2, 2), "what is there", fill=(220, 220, 224))
    pen.text((left.width + GAP + 2, 2), f"what is found, {MIN_SCORE:g} and more", fill=(220, 220, 224))
    return Picture(example.name, both)


def _drawn(example: Example, boxes: Floats, numbers: Sequence[int], labels: Sequence[str]) -> Any:
    from PIL import ImageDraw

    opened = decode_thumbnail(example.image, SIDE, (example.width, example.height)) if example.image is not None else None
    if opened is None:
        return None
    image, scale = opened
    larger = max(1, SIDE // max(image.width, image.height))
    image, scale = image.resize((image.width * larger, image.height * larger)), scale * larger
    pen = ImageDraw.Draw(image)
    for box, number, label in reversed(list(zip(boxes, numbers, labels, strict=True))):  # the best last, on top
        if np.isfinite(box).all():
            draw_box(pen, box * scale, colour_of(number), label)
    return image


def _named(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)
