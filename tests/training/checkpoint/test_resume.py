"""A run that goes on learns the classes that it has learned, or not at all; other images are said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.data.pipeline.pictures import some_data
from unstall.base.errors import InvalidInputError
from unstall.training.checkpoint.integrity import (
    DATA,
    describe_data,
    explain_other_classes,
    read_starting_classes,
    refuse_other_classes,
)
from unstall.training.loop.datasets import TrainValData


@pytest.fixture
def learned(tmp_path: Path) -> TrainValData:
    return TrainValData(some_data(tmp_path, 4), None, "")


def with_classes(learned: TrainValData, *classes: str) -> TrainValData:
    return replace(learned, train=replace(learned.train, classes=classes))


def test_the_same_data_is_nothing_to_speak_of(learned: TrainValData) -> None:
    assert refuse_other_classes({DATA: describe_data(learned)}, learned) == ""
    assert refuse_other_classes({}, learned) == ""  # of a version that did not keep it


@pytest.mark.parametrize("classes", [("b", "a", "c"), ("a", "b"), ("a", "b", "c", "new"), ("dog", "cat", "bird")])
def test_other_classes_are_refused_by_their_names(learned: TrainValData, classes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        refuse_other_classes({DATA: describe_data(learned)}, with_classes(learned, *classes))
    assert "3 classes (a, b, c)" in str(refused.value) and f"({', '.join(classes)})" in str(refused.value)


def test_other_images_are_said(learned: TrainValData) -> None:
    before = {DATA: {**describe_data(learned), "examples": 7}}
    assert refuse_other_classes(before, learned) == "The data has changed: 4 images to learn from, where there were 7 before."


def test_names_of_any_length_and_kind_fit_into_a_line() -> None:
    words = explain_other_classes(["x" * 3000, "a\nb\x1b[31m"], [f"class {number}" for number in range(100)])
    assert "\n" not in words and "\x1b" not in words and len(words) < 300 and "and 92 more" in words


def test_a_run_s_checkpoints_say_what_it_has_learned(tmp_path: Path) -> None:
    assert read_starting_classes(tmp_path / "not there") is None
    for step, position in ((5, {DATA: {"classes": ["old"]}}), (10, {DATA: {"classes": ["a", "b"]}}), (15, {})):
        folder = tmp_path / f"step-{step:09d}"
        folder.mkdir()
        (folder / "position.json").write_text(json.dumps({"position": position}))
    assert read_starting_classes(tmp_path) == ["a", "b"]
