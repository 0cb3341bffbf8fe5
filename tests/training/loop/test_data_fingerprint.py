"""The fingerprint of a training's data set: distributions, and digests that tell other images and other labels apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from unstall.data.example import DataSet, Example, ImageSource, Origin
from unstall.training.loop.datasets import compute_fingerprint


def example(name: str, width: int | None, height: int, boxes: int, folder: Path) -> Example:
    path = folder / name
    path.write_bytes(b"12345")
    marks = np.zeros(boxes, np.bool_)
    return Example(
        name, ImageSource(path), width, height, np.arange(4.0 * boxes).reshape(boxes, 4), np.zeros(boxes, np.int32), marks, marks, marks,
        Origin("x.json"),
    )  # fmt: skip


def data_of(folder: Path) -> DataSet:
    examples = [
        example("a.jpg", 640, 480, 3, folder),
        example("b.jpg", 4000, 3000, 0, folder),
        example("c.jpg", None, 480, 1, folder),
    ]
    return DataSet(folder, "coco", ("cat",), (1,), examples)


def test_sizes_boxes_and_classes_are_told(tmp_path: Path) -> None:
    result = compute_fingerprint(data_of(tmp_path))
    assert (result["examples"], result["files"], result["bytes"], result["classes"]) == (3, 3, 15, {"cat": 4})
    assert result["image_px"]["sizes"] == {"4000×3000": 1, "640×480": 1}, "where the size is not known, it is not guessed"
    assert result["largest"][0] == {"name": "b.jpg", "width": 4000, "height": 3000}
    assert (result["boxes_per_image"]["max"], result["boxes_per_image"]["none"], result["boxes_per_image"]["total"]) == (3, 1, 4)


def test_a_box_that_is_moved_changes_the_digest_of_labels_alone(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    first = data.examples[0]
    moved = replace(data, examples=[replace(first, boxes=first.boxes + 1), *data.examples[1:]])
    before, after = compute_fingerprint(data), compute_fingerprint(moved)
    assert before["digest"] == after["digest"] and before["labels_digest"] != after["labels_digest"]


def test_the_order_of_examples_does_not_matter_and_one_more_does(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    turned = replace(data, examples=list(reversed(data.examples)))
    assert compute_fingerprint(turned)["digest"] == compute_fingerprint(data)["digest"]
    fewer = replace(data, examples=data.examples[:2])
    assert compute_fingerprint(fewer)["digest"] != compute_fingerprint(data)["digest"]
