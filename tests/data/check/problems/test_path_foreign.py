"""Paths of another machine, whose files are here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.check.corrected_copy import write_copy
from unstall.data.check.runner import check
from unstall.data.formats import read
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("path_foreign"))
def test_the_file_of_that_name_is_taken_and_said(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "path_foreign", format)
    (finding,) = report.found["path_foreign"]
    assert "is a path of another machine" in finding.message and report.has_errors
    assert all(example.image is not None for example in report.checked.data.examples)


@pytest.mark.parametrize("format", list_formats("path_foreign"))
def test_a_mended_copy_names_its_own(tmp_path: Path, format: str) -> None:
    write_copy(spoiled(tmp_path, "path_foreign", format), tmp_path / "copy")
    assert not check(read(tmp_path / "copy")).found


@pytest.mark.parametrize("format", list_formats("path_foreign"))
def test_paths_of_this_data_set_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
