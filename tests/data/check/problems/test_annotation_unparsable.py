"""Annotations that cannot be read: the place is named, the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("annotation_unparsable"))
def test_what_cannot_be_read_is_found_and_its_place_named(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "annotation_unparsable", format)
    (finding,) = report.found["annotation_unparsable"]
    assert finding.origin.line or finding.origin.field
    assert len(report.checked.data.examples) >= 29 and report.has_errors


@pytest.mark.parametrize("format", list_formats("annotation_unparsable"))
def test_whole_files_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
