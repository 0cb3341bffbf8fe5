"""Paths that lead out of the data set are not followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("path_climbs_out"))
def test_a_path_that_climbs_is_found_and_not_followed(tmp_path: Path, format: str) -> None:
    (tmp_path.parent / "outside.jpg").write_bytes(b"not yours")
    report = spoiled(tmp_path, "path_climbs_out", format)
    assert len(report.found["path_climbs_out"]) == 1 and report.has_errors
    sources = [example.image.path for example in report.checked.data.examples if example.image]
    assert all((tmp_path / "set").resolve() in path.resolve().parents for path in sources)


@pytest.mark.parametrize("format", list_formats("path_climbs_out"))
def test_paths_inside_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
