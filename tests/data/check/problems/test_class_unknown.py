"""Names of classes that no list has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.corrected_copy import correct
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("class_unknown"))
def test_an_unknown_class_is_found(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "class_unknown", format)
    (finding,) = report.found["class_unknown"]
    assert "heptagon" in finding.message or "999" in finding.message
    assert report.has_errors


@pytest.mark.parametrize("format", list_formats("class_unknown"))
def test_listed_classes_are_none(tmp_path: Path, format: str) -> None:
    assert "class_unknown" not in healthy(tmp_path, format).found


def test_without_a_list_any_name_is_a_class(tmp_path: Path) -> None:
    from unstall.data.check.runner import check
    from unstall.data.formats import read

    spoiled(tmp_path, "class_unknown", "voc")
    (tmp_path / "set" / "labels.txt").unlink()
    data = read(tmp_path / "set")
    assert "heptagon" in data.classes and "class_unknown" not in check(data).found


@pytest.mark.parametrize("format", ["coco", "voc"])
def test_it_is_mended_by_leaving_the_box_out(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "class_unknown", format)
    corrected = correct(report, tmp_path)
    assert corrected.data.box_count == report.checked.data.box_count - 1
    assert [finding.problem for finding, _ in corrected.changes] == ["class_unknown"]
