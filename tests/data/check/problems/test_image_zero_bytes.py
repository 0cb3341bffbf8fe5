"""Empty files."""

from __future__ import annotations

from pathlib import Path

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.problems.image_zero_bytes import propose_fixes


def test_an_empty_file_is_found_and_left_out(tmp_path: Path) -> None:
    what = seen(tmp_path, b"", photo())
    findings = found("image_zero_bytes", what)
    assert [finding.example for finding in findings] == ["0.jpg"]
    assert [fix.leaves_out_image for fix in propose_fixes(what, findings)] == [True]


def test_one_byte_is_not_empty(tmp_path: Path) -> None:
    assert not found("image_zero_bytes", seen(tmp_path, b"\x00", photo()))
