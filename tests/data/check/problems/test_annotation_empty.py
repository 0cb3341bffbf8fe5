"""Annotations without a box: background, noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.runner import check
from unstall.data.formats import read
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("annotation_empty"))
def test_an_image_without_boxes_is_noted_and_nothing_more(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "annotation_empty", format)
    assert set(report.found) == {"annotation_empty"} and not report.has_errors


@pytest.mark.parametrize("format", list_formats("annotation_empty"))
def test_images_with_boxes_are_none(tmp_path: Path, format: str) -> None:
    assert "annotation_empty" not in healthy(tmp_path, format).found


def test_a_data_set_that_is_half_background_breaks_nothing(tmp_path: Path) -> None:
    report = healthy(tmp_path, "yolo", empty_share=0.5)
    assert set(report.found) == {"annotation_empty"} and not report.has_errors
    assert check(read(tmp_path / "set"), with_images=False).found.keys() == {"annotation_empty"}
