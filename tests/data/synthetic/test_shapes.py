"""The embedded data set: the same for the same seed, and boxes that are exact."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.base.errors import InvalidInputError
from unstall.data.formats import FORMATS, read
from unstall.data.synthetic.shapes import Shapes, assign_splits, write_shapes


def test_an_example_depends_on_seed_and_index_alone() -> None:
    small, many = Shapes(3, 96, 64, seed=5), Shapes(1000, 96, 64, seed=5)
    for index in (2, 0, 1, 2):
        one, two = small[index], many[index]
        assert (one.image == two.image).all() and (one.boxes == two.boxes).all() and (one.classes == two.classes).all()
    assert not (small[0].image == small[1].image).all()
    assert not (small[0].image == Shapes(3, 96, 64, seed=6)[0].image).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(16, 300), st.integers(16, 300), st.integers(1, 20))
def test_images_and_boxes_are_as_promised(seed: int, width: int, height: int, most: int) -> None:
    drawn = Shapes(1, width, height, seed, most)[0]
    assert drawn.image.shape == (height, width, 3) and drawn.image.dtype == np.uint8
    assert drawn.boxes.shape == (len(drawn.classes), 4) and drawn.boxes.dtype == np.float64
    assert 1 <= len(drawn.classes) <= most and drawn.classes.dtype == np.int32
    assert (drawn.boxes[:, :2] >= 0).all() and (drawn.boxes[:, 2:] <= (width, height)).all()
    assert (drawn.boxes[:, 2:] > drawn.boxes[:, :2]).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_box_is_the_exact_extent_of_what_is_seen(seed: int) -> None:
    """A single shape has one colour with a little grain: every edge row and column of its box holds it, and none beyond."""
    drawn = Shapes(1, 200, 150, seed, most=1)[0]
    left, top, right, bottom = drawn.boxes[0].astype(int)
    inside = drawn.image[top:bottom, left:right].astype(int)
    middle = inside[inside.shape[0] // 2, inside.shape[1] // 2]
    if drawn.classes[0] == 5:  # a ring shows the ground in its middle
        middle = inside[inside.shape[0] // 2, 1]
    same = (np.abs(drawn.image.astype(int) - middle).max(axis=2) <= 17)[:, :, None].all(axis=2)
    for edge in (same[top, left:right], same[bottom - 1, left:right], same[top:bottom, left], same[top:bottom, right - 1]):
        assert edge.any()


def test_every_class_is_drawn_and_sizes_differ() -> None:
    all_of_them = [Shapes(60, 128, 96)[index] for index in range(60)]
    classes = np.concatenate([drawn.classes for drawn in all_of_them])
    boxes = np.concatenate([drawn.boxes for drawn in all_of_them])
    assert set(classes.tolist()) == set(range(6))
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    assert areas.max() > 10 * areas.min()


def test_empty_images_come_when_asked_for() -> None:
    counts = [len(drawn.classes) for drawn in Shapes(100, 32, 32, empty_share=0.3)]
    assert 15 <= counts.count(0) <= 45


def test_beyond_its_end_there_is_nothing() -> None:
    with pytest.raises(IndexError, match="from 0 to 2"):
        Shapes(3)[3]
    assert len(list(Shapes(3, 32, 32))) == len(Shapes(3)) == 3


@pytest.mark.parametrize("wrong", [{"width": 3}, {"height": 10**6}, {"seed": -1}, {"most": 0}])
def test_impossible_wishes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError, match="Expected"):
        Shapes(**{"count": 3} | wrong)


@pytest.mark.parametrize("format", FORMATS.names())
def test_what_is_written_is_what_was_drawn(tmp_path: Path, format: str) -> None:
    shapes = Shapes(12, 100, 80, seed=2)
    write_shapes(tmp_path / "set", shapes, format, {"train": 3, "val": 1})
    data = read(tmp_path / "set")
    assert data.format == format and data.classes == shapes.classes and not data.findings
    assert {name: len(rows) for name, rows in data.splits().items()} == {"train": 9, "val": 3}
    by_name = {example.name.rpartition("/")[2].removesuffix(".jpg"): example for example in data.examples}
    for index, drawn in enumerate(shapes):
        np.testing.assert_allclose(by_name[f"shapes_{index:06d}"].boxes, drawn.boxes, atol=1e-4)
        assert by_name[f"shapes_{index:06d}"].classes.tolist() == drawn.classes.tolist()


def test_the_same_wish_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_shapes(tmp_path / name, Shapes(6, 64, 64), "coco", defects=["box_count_outlier"])
    files = [sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")) for name in ("one", "two")]
    assert files[0] == files[1]
    for path in files[0]:
        if (tmp_path / "one" / path).is_file():
            assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()
    assert json.loads((tmp_path / "one" / "annotations" / "instances_train.json").read_text())["images"]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="not empty"):
        write_shapes(tmp_path, Shapes(2, 32, 32))


def test_splits_are_stretches_of_the_right_length() -> None:
    assert assign_splits(10, {"train": 0.8, "val": 0.2}) == ["train"] * 8 + ["val"] * 2
    assert assign_splits(3, {}) == [""] * 3
    assert assign_splits(4, {"a": 0, "b": 1}) == ["b"] * 4
    with pytest.raises(InvalidInputError, match="above 0"):
        assign_splits(3, {"train": 0})
