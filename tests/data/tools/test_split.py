"""Dividing: every image once, shares kept, rare classes in each split, the same seed the same division."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.test_cli import as_json, call
from tests.data.dataset_files import small_set
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.tools.split import assign, check_shares, divide

SHARES = [0.8, 0.1, 0.1]
IMAGES = st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=3, max_size=200)


@given(IMAGES, st.integers(0, 5))
def test_every_image_is_in_one_split_and_the_seed_decides(classes: list[list[int]], seed: int) -> None:
    chosen = assign(classes, SHARES, seed)
    assert len(chosen) == len(classes) and set(chosen) == {0, 1, 2}
    assert chosen == assign(classes, SHARES, seed)


@given(st.lists(st.integers(0, 5), min_size=3, max_size=300), st.integers(0, 3))
def test_a_class_with_an_image_for_each_split_is_in_each(classes: list[int], seed: int) -> None:
    chosen = assign([[number] for number in classes], SHARES, seed)
    for number, count in Counter(classes).items():
        there = {split for split, other in zip(chosen, classes, strict=True) if other == number}
        assert len(there) == 3 or count < 3


def test_a_rare_class_among_common_ones_is_in_each_split() -> None:
    classes = [[0, 1] if number % 100 else [0, 1, 2] for number in range(1000)]  # class 2 in ten images
    chosen = assign(classes, SHARES, 0)
    rare = Counter(split for split, numbers in zip(chosen, classes, strict=True) if 2 in numbers)
    assert rare == {0: 8, 1: 1, 2: 1}
    assert Counter(chosen) == {0: 800, 1: 100, 2: 100}


def test_images_without_boxes_are_shared_out_too() -> None:
    assert Counter(assign([[] for _ in range(100)], SHARES, 0)) == {0: 80, 1: 10, 2: 10}


def test_another_seed_gives_another_division() -> None:
    classes = [[number % 3] for number in range(100)]
    assert assign(classes, SHARES, 0) != assign(classes, SHARES, 1)


@pytest.mark.parametrize(
    "shares", [{"train": 0.8, "val": 0.1, "test": 0.0}, {"train": 1.2, "val": -0.2}, {"train": float("nan"), "val": 0.5}]
)
def test_shares_that_do_not_make_one_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match="make 1 together"):
        check_shares(shares)


def test_fewer_images_than_splits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="at least 3 images"):
        divide(small_set(tmp_path), {"train": 0.8, "val": 0.1, "test": 0.1})


@pytest.mark.parametrize("name", formats.FORMATS.names())
def test_the_command_writes_the_division_in_the_same_format(tmp_path: Path, name: str) -> None:
    formats.FORMATS.module(name).write(small_set(tmp_path, [""] * 10), tmp_path / "in")
    result = as_json(
        "data", "split", str(tmp_path / "in"), str(tmp_path / "out"), "--train", "0.6", "--val", "0.4", "--test", "0"
    )
    assert result["splits"] == {"train": 6, "val": 4}
    data = formats.read(tmp_path / "out", name)
    assert Counter(one.split for one in data.examples) == {"train": 6, "val": 4}
    assert data.box_count == 20


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    done = call("data", "split", str(tmp_path), str(tmp_path / "out"), "--train", "0.9")
    assert done.returncode == 2
    assert "make 1 together. Received: train 0.9, val 0.1, test 0.1." in done.stderr
