"""How well a detector does on a data set: COCO's figures, each class by itself, what is taken for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_some
from unstall.data.example import DataSet, Example, Floats, Integers
from unstall.detectors.detector import Detector, InferenceModel
from unstall.training.evaluate.coco_metrics import (
    MIN_IOU,
    MIN_SCORE,
    RECALLS,
    GroundTruth,
    Predictions,
    Score,
    compute_confusion,
    score,
)
from unstall.training.evaluate.inference import (
    DataSetDetections,
    ImageDetections,
    create_pipeline,
    detect_examples,
)

ELSEWHERE = -1  # a class of the detector that the data set has not


@dataclass(frozen=True)
class Evaluation:
    classes: tuple[str, ...]
    score: Score
    confusion: npt.NDArray[np.int64]
    images: int
    skipped: dict[str, str]  # examples whose image cannot be read, and why
    without_detector: tuple[str, ...]  # classes that the detector does not know

    def as_plain(self) -> dict[str, Any]:
        return {
            "images": self.images,
            "figures": {name: _number(value) for name, value in self.score.figures().items()},
            "classes": [
                {
                    "class": name,
                    "objects": int(self.score.objects[number]),
                    **{figure: _number(value) for figure, value in self.score.of_class(number).items()},
                }
                for number, name in enumerate(self.classes)
            ],
            "curves": {
                "recall": RECALLS.tolist(),
                "mean": {"AP50": _curve(self.score.curve()), "AP75": _curve(self.score.curve(iou=5))},
                "classes": {name: _curve(self.score.curve(number)) for number, name in enumerate(self.classes)},
            },
            "confusion": {
                "classes": [*self.classes, "background"],
                "score_threshold": MIN_SCORE,
                "iou_threshold": MIN_IOU,
                "rows_are": "what is there",
                "table": self.confusion.tolist(),
            },
            "skipped": [{"example": name, "why": why} for name, why in self.skipped.items()],
            "classes_unknown_to_the_detector": list(self.without_detector),
        }


def evaluate(
    model: InferenceModel,
    data: DataSet,
    class_names: Sequence[str] = (),
    batch_size: int = 8,
    progress: Progress | None = None,
) -> Evaluation:
    """`class_names` are the detector's; without them its classes are those of the data set, in their order."""
    map_classes(model.detector, class_names, data)  # refuses at once what does not fit
    return evaluate_detections(model.detector, data, class_names, detect_all(model, data, batch_size, progress), progress)


def detect_all(model: InferenceModel, data: DataSet, batch_size: int, progress: Progress | None = None) -> DataSetDetections:
    """What is found in each of the images."""
    pipeline = create_pipeline(model.detector, data, batch_size)
    by_row: dict[int, ImageDetections] = {}
    for row, found in detect_examples(model, pipeline):
        by_row[row] = found
        if progress is not None:
            progress("detecting", len(by_row), len(data.examples))
    return DataSetDetections(by_row, pipeline.skipped.by_name)


def evaluate_detections(
    detector: Detector, data: DataSet, class_names: Sequence[str], found: DataSetDetections, progress: Progress | None = None
) -> Evaluation:
    to_data = map_classes(detector, class_names, data)
    if not found.by_row:
        why = next(iter(found.skipped.items()), ("", "it has no examples"))
        raise InvalidInputError(f"No image of '{data.path}' can be read. {': '.join(why)}")
    ground_truths = [read_ground_truth(data.examples[row]) for row in found.by_row]
    predictions = [convert_predictions(each, to_data) for each in found.by_row.values()]
    classes = len(data.classes)
    result = score(ground_truths, predictions, classes, progress)
    unknown = tuple(name for number, name in enumerate(data.classes) if number not in to_data)
    table = compute_confusion(ground_truths, predictions, classes)
    return Evaluation(tuple(data.classes), result, table, len(ground_truths), found.skipped, unknown)


def map_classes(detector: Detector, class_names: Sequence[str], data: DataSet) -> Integers:
    """(the detector's classes,) each as the data set numbers it. By name where the detector's are known."""
    count = detector.settings.num_classes
    if not class_names:
        if count != len(data.classes):
            raise InvalidInputError(
                f"The detector has {count} classes of unknown names, '{data.path}' has {len(data.classes)}. Expected as many."
            )
        return np.arange(count, dtype=np.int32)
    numbers = {name.strip().lower(): number for number, name in reversed(list(enumerate(data.classes)))}
    mapped = np.array([numbers.get(name.strip().lower(), ELSEWHERE) for name in class_names], np.int32)
    if (mapped == ELSEWHERE).all():
        own, theirs = format_some(class_names), format_some(data.classes)
        raise InvalidInputError(
            f"The detector and '{data.path}' have no class in common. The detector's: {own}. The data set's: {theirs}."
        )
    return mapped


def read_ground_truth(example: Example) -> GroundTruth:
    """As pycocotools has it: a crowd is never to be found, a difficult object is. Boxes of no class or size are passed over."""
    boxes = convert_corners_to_sides(example.boxes)
    usable = np.isfinite(boxes).all(axis=1) & (example.classes >= 0) & (boxes[:, 2:] > 0).all(axis=1)
    areas = boxes[:, 2] * boxes[:, 3]
    if example.areas is not None and len(example.areas) == len(areas):
        areas = np.where(np.isfinite(example.areas), example.areas, areas)
    return GroundTruth(boxes[usable], example.classes[usable], example.crowd[usable], areas[usable])


def convert_predictions(found: ImageDetections, to_data: Integers) -> Predictions:
    classes = to_data[found.classes]
    known = classes != ELSEWHERE
    return Predictions(convert_corners_to_sides(found.boxes[known]), classes[known], found.scores[known])


def convert_corners_to_sides(boxes: Floats) -> Floats:
    """(left, top, right, bottom) to (left, top, width, height)."""
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)


def _number(value: float) -> float | None:
    """None where there is nothing to find."""
    return None if value < 0 else value


def _curve(values: Floats) -> list[float] | None:
    return None if values[0] < 0 else values.tolist()
