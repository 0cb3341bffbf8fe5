"""The box of an object that has only an outline, held against COCO's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.dataset_files import coco_box, coco_image, coco_text, finding, picture, problems, put
from unstall.data import formats
from unstall.data.io.coco_segmentation import compute_extent

CATS = [{"id": 1, "name": "cat"}]
WHOLE = {"size": [48, 64], "counts": [0, 48 * 64]}


def outlined(segmentation: object, **more: object) -> dict[str, object]:
    return {key: value for key, value in coco_box(1, segmentation=segmentation, **more).items() if key != "bbox"}


def test_an_object_with_an_outline_alone_has_its_extent_as_box_and_a_copy_keeps_the_outline(tmp_path: Path) -> None:
    polygon = [[5.5, 10, 20, 8, 15, 30], [18, 9, 25, 9, 25, 12]]
    objects = [outlined(polygon), outlined(WHOLE, iscrowd=1), coco_box(1, bbox=None, segmentation=polygon)]
    put(tmp_path / "set", {"a.json": coco_text([coco_image(1, "a.jpg")], objects, CATS), "a.jpg": picture()})
    data = formats.read(tmp_path / "set")
    assert problems(data) == []
    assert data.examples[0].boxes.tolist() == [[5.5, 8, 25, 30], [0, 0, 64, 48], [5.5, 8, 25, 30]]
    assert data.examples[0].crowd.tolist() == [False, True, False]

    formats.FORMATS.module("coco").write(data, tmp_path / "copy")
    written = json.loads((tmp_path / "copy/annotations/instances.json").read_text())["annotations"]
    assert [entry["segmentation"] for entry in written] == [polygon, WHOLE, polygon]
    assert written[0]["bbox"] == [5.5, 8, 19.5, 22]


@pytest.mark.parametrize(
    ("segmentation", "received"),
    [
        ([], "neither"),
        (None, "neither"),
        ([[]], "neither"),
        ([[1, 2, 3]], "an outline that is none"),
        ("somewhere", "an outline that is none"),
        ({"size": [4, 4], "counts": [16]}, "an outline that is none"),  # nothing is drawn
        ({"size": [4, 4], "counts": [0, 17]}, "an outline that is none"),
        ({"size": [4, 4], "counts": [1, -3, 9]}, "an outline that is none"),
        ({"size": [10**12, 10**12], "counts": [0, 10**20]}, "an outline that is none"),
        ({"size": [4, 4], "counts": "zzzz"}, "an outline that is none"),
        ({"counts": [0, 1]}, "an outline that is none"),
    ],
)
def test_one_without_either_is_named_and_left_out(tmp_path: Path, segmentation: object, received: str) -> None:
    objects = [coco_box(1), outlined(segmentation), coco_box(1)]
    put(tmp_path, {"a.json": coco_text([coco_image(1, "a.jpg")], objects, CATS), "a.jpg": picture()})
    data = formats.read(tmp_path)
    assert data.examples[0].count == 2
    expected = "Expected a box (left, top, width, height), or an outline to take it from (segmentation)."
    assert finding(data, "annotation_unparsable") == f"a.json: annotations[1].bbox: {expected} Received: {received}."


@given(st.integers(1, 9), st.integers(1, 70), st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 0.5, 1]))
@settings(max_examples=60, deadline=None)
def test_the_extent_of_a_mask_is_that_of_pycocotools(height: int, width: int, seed: int, share: float) -> None:
    mask = pytest.importorskip("pycocotools.mask")
    drawn = np.random.default_rng(seed).random((height, width)) < share
    packed = mask.encode(np.asfortranarray(drawn, np.uint8))
    text = {"size": packed["size"], "counts": packed["counts"].decode()}
    flat = drawn.flatten("F")
    edges = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *([0] if flat[0] else []), *edges, flat.size]).tolist()
    expected = tuple(mask.toBbox(packed).tolist()) if drawn.any() else None
    for counts in (text, {"size": [height, width], "counts": runs}):
        assert compute_extent(msgspec.Raw(json.dumps(counts).encode())) == expected
