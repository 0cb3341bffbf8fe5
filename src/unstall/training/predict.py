"""What a detector finds in images, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unstall.data.example import DataSet
from unstall.errors import WrongInput
from unstall.report.progress import Progress
from unstall.training.detected import Found
from unstall.training.detecting import Detecting, detections, pipeline_for


def predict(
    model: Detecting,
    data: DataSet,
    class_names: Sequence[str] = (),
    batch_size: int = 8,
    least_score: float = 0.3,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """For each image its boxes, the best first. Images that cannot be read are named; it is an error where none can."""
    pipeline = pipeline_for(model.detector, data, min(batch_size, len(data.examples)))
    images = []
    for row, found in detections(model, pipeline):
        images.append({"image": data.examples[row].name, "row": row, "boxes": boxes_of(found.at_least(least_score), class_names)})
        if progress is not None:
            progress("detecting", len(images), len(data.examples))
    skipped = pipeline.skipped.by_name
    if not images:
        name, why = next(iter(skipped.items()))
        raise WrongInput(f"None of the {len(data.examples)} images can be read. '{name}': {why}")
    return {"images": images, "skipped": [{"image": name, "why": why} for name, why in skipped.items()]}


def boxes_of(found: Found, class_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "class": class_names[number] if number < len(class_names) else str(number),
            "number": number,
            "score": round(score, 6),
            "box": [round(edge, 3) for edge in box],
        }
        for box, score, number in zip(found.boxes.tolist(), found.scores.tolist(), found.classes.tolist(), strict=True)
    ]
