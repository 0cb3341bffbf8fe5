"""What was found in the images of a data set, also put together of what several workers found in their parts of it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unstall.data.example import Floats, Integers


class ImageDetections(NamedTuple):
    """In one image, the best first: boxes as (left, top, right, bottom) in pixels of the image as it is seen."""

    boxes: Floats
    scores: Floats
    classes: Integers

    def at_least(self, score: float) -> ImageDetections:
        shown = self.scores >= score
        return ImageDetections(self.boxes[shown], self.scores[shown], self.classes[shown])


@dataclass(frozen=True)
class DataSetDetections:
    by_row: dict[int, ImageDetections]  # of the data set's examples, in their order
    skipped: dict[str, str]  # examples whose image cannot be read, and why

    def packed(self) -> bytes:
        """For another process; `of_parts` gives the same numbers again."""
        found = list(self.by_row.values())
        arrays = {
            "rows": np.array(list(self.by_row), np.int64),
            "counts": np.array([len(each.scores) for each in found], np.int64),
            "boxes": np.concatenate([np.zeros((0, 4)), *(each.boxes for each in found)]),
            "scores": np.concatenate([np.zeros(0), *(each.scores for each in found)]),
            "classes": np.concatenate([np.zeros(0, np.int32), *(each.classes for each in found)]),
            "skipped": np.frombuffer(json.dumps(self.skipped).encode(), np.uint8),
        }
        held = io.BytesIO()
        np.savez(held, **arrays)  # type: ignore[arg-type]
        return held.getvalue()

    @classmethod
    def of_parts(cls, parts: Sequence[bytes]) -> DataSetDetections:
        """Of a data set whose examples were dealt out one by one: the first to the first worker, the second to the second, …"""
        by_row: dict[int, ImageDetections] = {}
        skipped: dict[str, str] = {}
        for worker, part in enumerate(parts):
            own = _unpacked(part)
            by_row |= {row * len(parts) + worker: found for row, found in own.by_row.items()}
            skipped |= own.skipped
        return cls(dict(sorted(by_row.items())), skipped)


def _unpacked(packed: bytes) -> DataSetDetections:
    with np.load(io.BytesIO(packed)) as arrays:
        ends = np.cumsum(arrays["counts"])[:-1]
        columns = (np.split(arrays[name], ends) for name in ("boxes", "scores", "classes"))
        found = [ImageDetections(*each) for each in zip(*columns, strict=True)]
        rows = arrays["rows"].tolist()
        return DataSetDetections(dict(zip(rows, found, strict=False)), json.loads(arrays["skipped"].tobytes()))
