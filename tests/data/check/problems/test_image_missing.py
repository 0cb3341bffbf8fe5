"""Annotations without their image."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.corrected_copy import correct
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("image_missing"))
def test_a_missing_image_is_found(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "image_missing", format)
    assert len(report.found["image_missing"]) == 1 and report.has_errors


@pytest.mark.parametrize("format", list_formats("image_missing"))
def test_images_that_are_there_are_none(tmp_path: Path, format: str) -> None:
    assert "image_missing" not in healthy(tmp_path, format).found


@pytest.mark.parametrize("format", ["coco", "voc"])
def test_it_is_mended_by_leaving_the_annotation_out(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "image_missing", format)
    corrected = correct(report, tmp_path)
    assert len(corrected.data.examples) == 29 and all(example.image for example in corrected.data.examples)


def test_annotations_kept_apart_from_their_images_are_not_emptied(tmp_path: Path) -> None:
    import shutil

    from unstall.data.check.runner import check
    from unstall.data.formats import read

    healthy(tmp_path)
    for split in ("train", "val"):
        shutil.rmtree(tmp_path / "set" / split)
    report = check(read(tmp_path / "set"))
    assert len(report.found["image_missing"]) == 2  # once for each file, not for each image
    assert len(correct(report, tmp_path).data.examples) == 30
