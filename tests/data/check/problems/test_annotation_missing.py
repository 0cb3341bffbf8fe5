"""Images that no annotation speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


def test_an_image_whose_annotation_is_gone_is_named(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "annotation_missing", "voc")
    assert {finding.example.rpartition("/")[2].removesuffix(".jpg") for finding in report.found["annotation_missing"]} == {
        "shapes_000029"
    }
    assert not report.has_errors


@pytest.mark.parametrize("format", list_formats("annotation_missing"))
def test_annotated_images_are_none(tmp_path: Path, format: str) -> None:
    assert "annotation_missing" not in healthy(tmp_path, format).found
