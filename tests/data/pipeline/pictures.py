"""Small data sets for the tests of the pipeline: real files, whose pixels tell where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from unstall.data.example import DataSet, Example, ImageSource, Origin

Box = tuple[float, float, float, float]


def picture(width: int, height: int, row: int = 0) -> np.ndarray:
    """Red grows from left to right, green from top to bottom, blue is the row's: a pixel's colour says where it was."""
    across = np.linspace(0, 255, width)[None, :].repeat(height, axis=0)
    down = np.linspace(0, 255, height)[:, None].repeat(width, axis=1)
    return np.stack([across, down, np.full_like(across, 20 * row % 256)], axis=-1).round().astype(np.uint8)


def example(path: Path, width: int, height: int, boxes: Sequence[Box] = ()) -> Example:
    count = len(boxes)
    flags = np.zeros(count, np.bool_)
    return Example(
        name=path.name,
        image=ImageSource(path),
        width=width,
        height=height,
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        classes=np.arange(count, dtype=np.int32) % 3,
        crowd=flags.copy(),
        difficult=flags.copy(),
        truncated=flags.copy(),
        origin=Origin("test.json"),
    )


def data_set(examples: Sequence[Example]) -> DataSet:
    return DataSet(Path("/nowhere"), "coco", ("a", "b", "c"), (1, 2, 3), examples)


def some_data(folder: Path, count: int = 12, width: int = 96, height: int = 64, suffix: str = ".jpg") -> DataSet:
    """As many images of that size, each with two boxes, the last with none."""
    examples = []
    for row in range(count):
        path = folder / f"{row:03}{suffix}"
        cv2.imwrite(str(path), cv2.cvtColor(picture(width, height, row), cv2.COLOR_RGB2BGR))
        boxes: list[Box] = [(4 + row, 6, 40 + row, 50), (50, 10, 90, 60)] if row < count - 1 else []
        examples.append(example(path, width, height, boxes))
    return data_set(examples)
