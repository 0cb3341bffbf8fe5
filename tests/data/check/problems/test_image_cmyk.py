"""Images for print."""

from __future__ import annotations

from pathlib import Path

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.images import look_at_bytes
from unstall.data.check.problems.image_cmyk import propose_fixes


def test_four_channels_for_print_are_found_and_made_rgb(tmp_path: Path) -> None:
    what = seen(tmp_path, photo(mode="CMYK"), photo())
    findings = found("image_cmyk", what)
    assert [finding.example for finding in findings] == ["0.jpg"]
    (fix,) = propose_fixes(what, findings)
    assert fix.image is not None and look_at_bytes(fix.image).mode == "RGB"


def test_rgb_grey_and_transparent_images_are_none(tmp_path: Path) -> None:
    assert not found("image_cmyk", seen(tmp_path, photo(), photo(mode="L"), photo(mode="RGBA", kind="PNG")))
