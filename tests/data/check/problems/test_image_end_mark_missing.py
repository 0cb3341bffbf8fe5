"""JPEGs with all of their lines and no end mark, which Pillow refuses."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.fixes import Fix
from unstall.data.check.problems import image_cmyk, image_end_mark_missing


@pytest.mark.parametrize("cut", [1, 2])
def test_a_jpeg_without_its_end_mark_is_noted_and_gets_it(tmp_path: Path, cut: int) -> None:
    what = seen(tmp_path, photo(), photo(1)[:-cut])
    (finding,) = findings = found("image_end_mark_missing", what)
    assert finding.example == "1.jpg" and not found("image_truncated", what)
    with pytest.raises(OSError, match="truncated"):
        Image.open(tmp_path / "1.jpg").load()
    (fix,) = image_end_mark_missing.propose_fixes(what, findings)
    assert _decodes(fix) and fix.image is not None and fix.image.startswith(photo(1)[:-cut])


def test_whole_cut_and_padded_images_are_none(tmp_path: Path) -> None:
    cut = photo(size=(320, 240))
    others = [photo(kind=kind) for kind in ("PNG", "BMP", "WEBP")]
    what = seen(tmp_path, photo(), photo(progressive=True), cut[: len(cut) // 2], photo() + b"\x00" * 100, *others)
    assert not found("image_end_mark_missing", what)


def test_another_defect_of_such_an_image_is_mended_too(tmp_path: Path) -> None:
    what = seen(tmp_path, photo(mode="CMYK")[:-2], photo())
    (fix,) = image_cmyk.propose_fixes(what, found("image_cmyk", what))
    assert _decodes(fix)


def _decodes(fix: Fix) -> bool:
    assert fix.image is not None
    Image.open(io.BytesIO(fix.image)).load()
    return True
