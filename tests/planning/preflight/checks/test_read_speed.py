"""Storage that keeps up with the run, and storage that does not."""

from __future__ import annotations

from pathlib import Path

from tests.planning.preflight.contexts import context
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.planning.preflight.check import CheckOk, CheckWarning
from unstall.planning.preflight.checks.read_speed import judge, look


def test_more_than_the_steps_take_fits_and_less_warns() -> None:
    assert isinstance(judge(read=500.0, taken=100.0, decoded=400.0, bytes_each=1e5), CheckOk)
    found = judge(read=90.0, taken=100.0, decoded=400.0, bytes_each=1e5)
    assert isinstance(found, CheckWarning) and "90 images/s (9 MB/s) are read; the training steps take 100" in found.reason


def test_decoding_that_is_slower_than_the_steps_warns() -> None:
    found = judge(read=5000.0, taken=1000.0, decoded=300.0, bytes_each=1e5)
    assert isinstance(found, CheckWarning) and "cache" in found.fix


def test_without_measured_steps_what_the_cores_decode_is_the_measure() -> None:
    assert isinstance(judge(read=500.0, taken=None, decoded=400.0, bytes_each=1e5), CheckOk)
    assert isinstance(judge(read=300.0, taken=None, decoded=400.0, bytes_each=1e5), CheckWarning)


def test_real_images_are_read_and_decoded(tmp_path: Path) -> None:
    write_shapes(tmp_path / "set", Shapes(20, 64, 64), "coco", {}, [], None)
    facts = look(context(tmp_path, data=str(tmp_path / "set"))).facts
    assert facts["read_images_per_s"] > 0 and facts["decoded_images_per_s"] > 0 and 500 < facts["image_bytes"] < 50_000


def test_the_embedded_shapes_are_not_read(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), CheckOk)
