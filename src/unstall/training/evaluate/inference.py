"""A detector at work: batches in, boxes in the pixels of the whole images out. Compiled once, whatever the images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.base.progress import Progress
from unstall.data.example import DataSet
from unstall.data.pipeline import Batch, Pipeline, Settings
from unstall.detectors.detector import Detector
from unstall.detectors.layers.boxes import Tensor
from unstall.training.evaluate.detections import ImageDetections


class InferenceModel(keras.Model):  # type: ignore[misc]
    """The detector with everything behind its outputs, suppression included, as one model. It is compiled when it is first used:
    whoever detects again and again, as a training does, keeps it."""

    def __init__(self, detector: Detector) -> None:
        super().__init__(name=f"detecting_{detector.name}")
        self.detector = detector
        height, width = detector.settings.image_size
        self.input_shape_px = (height, width, 3)
        self.built = True  # as the detector is: else Keras runs it once, operation by operation, for longer than it compiles

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, Tensor]:
        found = self.detector.detect(images)
        return {"boxes": found.boxes, "scores": found.scores, "classes": found.classes}


def pipeline_for(detector: Detector, data: DataSet, batch_size: int) -> Pipeline:
    """Each example once, in the order of the data set, nothing changed but its size."""
    height, width = detector.settings.image_size
    settings = Settings(
        batch_size=batch_size, height_px=height, width_px=width, resize=detector.resize, for_training=False, max_bad_fraction=1.0,
    )  # fmt: skip
    return Pipeline(data, settings)


def detections(model: InferenceModel, pipeline: Pipeline) -> Iterator[tuple[int, ImageDetections]]:
    """The row of each example and what is found in it. An example whose image cannot be read does not come."""
    with pipeline.batches() as batches:
        for batch in batches:
            if (batch.rows < 0).all():
                continue
            raw: dict[str, Any] = model.predict_on_batch(batch.images)
            outputs = {name: keras.ops.convert_to_numpy(values) for name, values in raw.items()}
            for place, row in enumerate(batch.rows.tolist()):
                if row >= 0:
                    yield row, detections_at(batch, place, outputs)


def detections_at(batch: Batch, place: int, outputs: dict[str, np.ndarray]) -> ImageDetections:
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
    pipeline = pipeline_for(model.detector, data, min(batch_size, len(data.examples)))
    images = []
    for row, found in detections(model, pipeline):
        boxes = boxes_of(found.at_least(score_threshold), class_names)
        images.append({"image": data.examples[row].name, "row": row, "boxes": boxes})
        if progress is not None:
            progress("detecting", len(images), len(data.examples))
    skipped = pipeline.skipped.by_name
    if not images:
        name, why = next(iter(skipped.items()))
        raise InvalidInputError(f"None of the {len(data.examples)} images can be read. '{name}': {why}")
    return {"images": images, "skipped": [{"image": name, "why": why} for name, why in skipped.items()]}


def boxes_of(found: ImageDetections, class_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "class": class_names[number] if number < len(class_names) else str(number),
            "number": number,
            "score": round(score, 6),
            "box": [round(edge, 3) for edge in box],
        }
        for box, score, number in zip(found.boxes.tolist(), found.scores.tolist(), found.classes.tolist(), strict=True)
    ]
