"""The number 0, or a class called background."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("label_map_background"))
def test_it_is_found_in_the_list_of_classes(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "label_map_background", format)
    origin = report.found["label_map_background"][0].origin
    assert origin.file in report.checked.data.files


@pytest.mark.parametrize("format", ["coco", "tfrecord", "voc", "yolo"])
def test_a_proper_list_is_none(tmp_path: Path, format: str) -> None:
    assert "label_map_background" not in healthy(tmp_path, format).found
