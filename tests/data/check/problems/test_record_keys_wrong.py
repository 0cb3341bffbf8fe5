"""Features that are missing or misnamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


@pytest.mark.parametrize("format", list_formats("record_keys_wrong"))
def test_it_is_found_and_the_other_records_are_read(tmp_path: Path, format: str) -> None:
    report = spoiled(tmp_path, "record_keys_wrong", format)
    assert "record_keys_wrong" in report.found and report.has_errors
    assert len(report.checked.data.examples) >= 20


@pytest.mark.parametrize("format", list_formats("record_keys_wrong"))
def test_whole_records_are_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found


def test_both_what_is_there_and_what_is_needed_are_named(tmp_path: Path) -> None:
    message = spoiled(tmp_path, "record_keys_wrong", "tfrecord").found["record_keys_wrong"][0].message
    assert "image/encoded" in message and "image/data" in message
