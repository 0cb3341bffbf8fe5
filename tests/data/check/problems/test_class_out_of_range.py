"""Class numbers beyond the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.corrected_copy import correct
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("class_out_of_range"))
def test_class_99_of_6_is_found(tmp_path: Path, format: str) -> None:
    (finding,) = spoiled(tmp_path, "class_out_of_range", format).found["class_out_of_range"]
    assert "99" in finding.message


@pytest.mark.parametrize("format", list_formats("class_out_of_range"))
def test_the_highest_class_is_in_range(tmp_path: Path, format: str) -> None:
    report = healthy(tmp_path, format)
    assert int(report.checked.table.classes.max()) == 5
    assert "class_out_of_range" not in report.found


def test_it_is_mended_by_leaving_the_box_out(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "class_out_of_range", "yolo")
    assert correct(report, tmp_path).data.box_count == report.checked.data.box_count - 1
