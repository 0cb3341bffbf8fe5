"""A detector at work: batches in, boxes in the pixels of the whole images out. Compiled once, whatever the images. And
what several workers have detected in their parts of a data set, put together."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Floats, Integers
from unstall.data.pipeline import Batch, Pipeline, PipelineSettings
from unstall.detectors.detector import Detector, InferenceModel


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
        """For another process; `from_parts` gives the same numbers again."""
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
    def from_parts(cls, parts: Sequence[bytes]) -> DataSetDetections:
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


def create_pipeline(detector: Detector, data: DataSet, batch_size: int) -> Pipeline:
    """Each example once, in the order of the data set, nothing changed but its size."""
    height, width = detector.settings.image_size
    settings = PipelineSettings(
        batch_size=batch_size, height_px=height, width_px=width, resize=detector.resize, for_training=False, max_bad_fraction=1.0,
    )  # fmt: skip
    return Pipeline(data, settings)


def detect_examples(model: InferenceModel, pipeline: Pipeline) -> Iterator[tuple[int, ImageDetections]]:
    """The row of each example and what is found in it. An example whose image cannot be read does not come."""
    with pipeline.batches() as batches:
        for batch in batches:
            if (batch.rows < 0).all():
                continue
            raw: dict[str, Any] = model.predict_on_batch(batch.images)
            outputs = {name: keras.ops.convert_to_numpy(values) for name, values in raw.items()}
            for place, row in enumerate(batch.rows.tolist()):
                if row >= 0:
                    yield row, compute_detections_at(batch, place, outputs)


def compute_detections_at(batch: Batch, place: int, outputs: dict[str, np.ndarray]) -> ImageDetections:
    """Boxes that reach into the padding are cut at the image; what lies beside it altogether is left out."""
    is_used = outputs["classes"][place] >= 0
    boxes = batch.boxes_of_image(place, outputs["boxes"][place][is_used])
    height, width = batch.sizes[place].tolist()
    boxes = np.minimum(np.maximum(boxes, 0.0), (width, height, width, height))
    has_area = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    scores, classes = outputs["scores"][place][is_used], outputs["classes"][place][is_used]
    return ImageDetections(boxes[has_area], scores[has_area].astype(np.float64), classes[has_area].astype(np.int32))


# What a detector finds in images, as plain data.


def predict(
    model: InferenceModel,
    data: DataSet,
    class_names: Sequence[str] = (),
    batch_size: int = 8,
    score_threshold: float = 0.3,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """For each image its boxes, the best first. Images that cannot be read are named; it is an error where none can."""
    pipeline = create_pipeline(model.detector, data, min(batch_size, len(data.examples)))
    images = []
    for row, found in detect_examples(model, pipeline):
        boxes = read_boxes(found.at_least(score_threshold), class_names)
        images.append({"image": data.examples[row].name, "row": row, "boxes": boxes})
        if progress is not None:
            progress("detecting", len(images), len(data.examples))
    skipped = pipeline.skipped.by_name
    if not images:
        name, why = next(iter(skipped.items()))
        raise InvalidInputError(f"None of the {len(data.examples)} images can be read. '{name}': {why}")
    return {"images": images, "skipped": [{"image": name, "why": why} for name, why in skipped.items()]}


def read_boxes(found: ImageDetections, class_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "class": class_names[number] if number < len(class_names) else str(number),
            "number": number,
            "score": round(score, 6),
            "box": [round(edge, 3) for edge in box],
        }
        for box, score, number in zip(found.boxes.tolist(), found.scores.tolist(), found.classes.tolist(), strict=True)
    ]
