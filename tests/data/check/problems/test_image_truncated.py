"""Images that end too early, and those that only look so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.images import look_at_bytes
from unstall.data.pipeline import decoder


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_an_image_that_is_cut_off_is_found(tmp_path: Path, kind: str, share: float) -> None:
    whole = photo(size=(320, 240), kind=kind)
    (finding,) = found("image_truncated", seen(tmp_path, whole[: int(share * len(whole))], photo()))
    assert finding.example == "0.jpg"


def test_a_progressive_jpeg_that_is_cut_off_is_found(tmp_path: Path) -> None:
    whole = photo(size=(320, 240), progressive=True)
    assert len(found("image_truncated", seen(tmp_path, whole[: len(whole) // 2]))) == 1


def test_damage_inside_is_found(tmp_path: Path) -> None:
    whole = bytearray(photo(size=(320, 240)))
    middle = len(whole) // 2
    whole[middle : middle + 400] = b"\xff\xd9" * 200
    assert len(found("image_truncated", seen(tmp_path, bytes(whole)))) == 1


def test_whole_images_are_none(tmp_path: Path) -> None:
    kinds = [photo(kind=kind) for kind in ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")]
    assert not found("image_truncated", seen(tmp_path, *kinds, photo(progressive=True), photo(mode="L"), photo(mode="CMYK")))


def test_a_missing_end_mark_or_bytes_after_it_are_none(tmp_path: Path) -> None:
    assert not found("image_truncated", seen(tmp_path, photo()[:-2], photo() + b"\x00" * 100, photo() + b"<camera>"))


def test_odd_parameters_that_every_decoder_passes_over_are_none(tmp_path: Path) -> None:
    """Some telephones write a scan header that a sequential JPEG should not have; libjpeg warns and decodes it whole."""
    data = bytearray(photo(size=(320, 240)))
    scan = data.index(b"\xff\xda")
    end = scan + 2 + int.from_bytes(data[scan + 2 : scan + 4], "big")
    data[end - 3 : end] = b"\x00\x00\x00"  # spectral selection 0 to 0 in place of 0 to 63
    assert not found("image_truncated", seen(tmp_path, bytes(data)))


@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"mode": "L"}, {"mode": "CMYK"}])
def test_what_stops_a_training_is_found_and_what_is_not_found_is_whole(how: dict[str, object]) -> None:
    whole = photo(size=(320, 240), **how)  # type: ignore[arg-type]
    facts = decoder.look(whole, 10**6)
    pixels = decoder.decode(whole, facts, 1)
    passed = set()
    for cut in (1, 2, 3, 4, 7, 20, 100, len(whole) // 2):
        try:
            decoded = decoder.decode(whole[:-cut], facts, 1)
        except decoder.UNREADABLE:
            assert look_at_bytes(whole[:-cut]).is_truncated, cut
        else:
            assert not look_at_bytes(whole[:-cut]).error and np.array_equal(decoded, pixels), cut
            passed.add(cut)
    assert passed == (set() if "progressive" in how else {1, 2})  # of a progressive one nothing tells that it is whole
