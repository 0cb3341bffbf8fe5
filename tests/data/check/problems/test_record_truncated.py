"""Files of records that are cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("record_truncated"))
def test_it_is_found_and_the_other_records_are_read(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "record_truncated", format)
    assert "record_truncated" in report.found and report.has_errors
    assert len(report.checked.data.examples) >= 20


@pytest.mark.parametrize("format", list_formats("record_truncated"))
def test_whole_records_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
