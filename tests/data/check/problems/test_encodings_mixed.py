"""PNG among JPEG in the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import healthy, spoiled
from unstall.data.synthetic.defects import list_formats


def test_one_png_among_jpegs_is_found(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "encodings_mixed", "tfrecord")
    assert set(report.found) == {"encodings_mixed"} and not report.has_errors


@pytest.mark.parametrize("format", list_formats("encodings_mixed"))
def test_one_encoding_is_none(tmp_path: Path, format: str) -> None:
    assert not healthy(tmp_path, format).found
