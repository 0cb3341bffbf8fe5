"""Paths that differ by case only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.corrected_copy import write_copy
from unstall.data.check.runner import check
from unstall.data.formats import read
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("path_case_differs"))
def test_a_name_in_capitals_is_found(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "path_case_differs", format)
    (finding,) = report.found["path_case_differs"]
    assert "SHAPES_" in finding.message and report.has_errors


@pytest.mark.parametrize("format", list_formats("path_case_differs"))
def test_in_a_mended_copy_they_agree(tmp_path: Path, format: str) -> None:
    write_copy(spoiled(tmp_path, "path_case_differs", format), tmp_path / "copy")
    assert not check(read(tmp_path / "copy")).found


@pytest.mark.parametrize("format", list_formats("path_case_differs"))
def test_names_that_agree_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
