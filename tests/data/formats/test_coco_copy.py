"""Outlines and keypoints of a COCO set: a copy in the same format carries them, and whatever is lost is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.dataset_files import coco_image, picture, put
from unstall.data import formats
from unstall.data.check.corrected_copy import write_copy
from unstall.data.check.runner import check
from unstall.data.tools.convert import convert, write_aside
from unstall.data.tools.split import divide

CLASSES = [{"id": 1, "name": "person", "supercategory": "animal", "keypoints": ["nose", "ear"], "skeleton": [[1, 2]]}]
OUTLINE = [[1, 2, 11, 2, 11.5, 22.25]]
CODED = {"counts": "PPYo1", "size": [48, 64]}
POINTS = [3, 4, 2, 0, 0, 0]


def box(image: int, corner: tuple[float, float] = (1, 2), width: float = 10, **more: Any) -> dict[str, Any]:
    return {"image_id": image, "category_id": 1, "bbox": [*corner, width, 20], "iscrowd": 0, **more}


def data_set(folder: Path, boxes: list[dict[str, Any]], images: int = 2) -> Path:
    plain = {
        "images": [coco_image(number, f"{number}.jpg") for number in range(images)],
        "annotations": boxes,
        "categories": CLASSES,
    }
    return put(folder, {"all.json": json.dumps(plain), **{f"{number}.jpg": picture() for number in range(images)}})


def written(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Annotations and categories of all its files."""
    files = [json.loads(path.read_text()) for path in sorted((folder / "annotations").glob("*.json"))]
    return [entry for file in files for entry in file["annotations"]], files[0]["categories"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    outlined = box(0, segmentation=OUTLINE, area=123.5)
    pointed = box(1, (5, 5), keypoints=POINTS, num_keypoints=1, segmentation=[])
    crowd = box(1, (6, 6), segmentation=CODED) | {"iscrowd": 1}
    wrong = {"image_id": 0, "bbox": "none"}  # left out: those behind it are found all the same
    return data_set(tmp_path / "set", [wrong, outlined, pointed, crowd])


def test_a_conversion_to_coco_carries_outlines_keypoints_and_areas(source: Path, tmp_path: Path) -> None:
    result = convert(source, tmp_path / "copy", "coco")
    boxes, categories = written(tmp_path / "copy")
    assert [entry.get("segmentation") for entry in boxes] == [OUTLINE, None, CODED]
    assert [entry.get("keypoints") for entry in boxes] == [None, POINTS, None] and boxes[1]["num_keypoints"] == 1
    assert [entry["area"] for entry in boxes] == [123.5, 200, 200]
    assert categories == CLASSES
    assert result.lost == {}


def test_a_division_carries_them_with_their_image(source: Path, tmp_path: Path) -> None:
    write_aside(divide(formats.read(source), {"train": 0.5, "val": 0.5}), tmp_path / "copy", "coco")
    boxes, _ = written(tmp_path / "copy")
    assert sorted(str(entry.get("segmentation")) for entry in boxes) == sorted(map(str, [OUTLINE, None, CODED]))


@pytest.mark.parametrize("to", ["voc", "yolo", "tfrecord"])
def test_formats_that_cannot_hold_them_say_how_many_are_lost(source: Path, tmp_path: Path, to: str) -> None:
    lost = convert(source, tmp_path / "copy", to).lost
    assert (lost["outlines of objects"], lost["keypoints of objects"]) == (2, 1)


def test_a_set_without_them_loses_nothing(tmp_path: Path) -> None:
    source = data_set(tmp_path / "set", [box(0, segmentation=[], keypoints=[0, 0, 0], area=None), box(1)])
    assert convert(source, tmp_path / "copy", "voc").lost == {}


def test_a_corrected_copy_keeps_those_of_boxes_that_were_right(tmp_path: Path) -> None:
    """The second box reaches out of its image and is cut: its outline is no longer that of the box."""
    boxes = [box(0, segmentation=OUTLINE, area=77.0), box(0, (50, 2), width=40, segmentation=OUTLINE, area=88.0)]
    source = data_set(tmp_path / "set", boxes, images=1)
    plain = write_copy(check(formats.read(source)), tmp_path / "copy")
    kept, cut = written(tmp_path / "copy")[0]
    assert (kept["segmentation"], kept["area"]) == (OUTLINE, 77.0)
    assert "segmentation" not in cut and cut["bbox"][2] < 40 and cut["area"] == cut["bbox"][2] * 20
    assert plain["not_held_by_the_format"] == {"outlines of objects: the box was changed, or they are not finite": 1}


def test_numbers_that_are_no_json_are_counted_rather_than_copied(tmp_path: Path) -> None:
    source = data_set(tmp_path / "set", [box(0, segmentation=[[float("nan"), 1, 2, 3]]), box(1, segmentation=OUTLINE)])
    lost = convert(source, tmp_path / "copy", "coco").lost
    assert [entry.get("segmentation") for entry in written(tmp_path / "copy")[0]] == [None, OUTLINE]
    assert lost == {"outlines of objects: the box was changed, or they are not finite": 1}
