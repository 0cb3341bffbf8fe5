"""A bucket that keeps up with the run, and one that does not. Against a real server: tests/storage."""

from __future__ import annotations

from pathlib import Path

from tests.planning.preflight.contexts import context
from unstall.planning.preflight.check import CheckOk, CheckUnknown, CheckWarning
from unstall.planning.preflight.checks.bucket_speed import BucketSpeed, judge, look


def measured(images_per_s: float, has_small_files: bool = True) -> BucketSpeed:
    return BucketSpeed(0.04, images_per_s, images_per_s * 1e5, 1e5, has_small_files)


def test_more_than_the_steps_take_fits() -> None:
    found = judge(measured(500.0), taken=100.0, decoded=400.0)
    assert isinstance(found, CheckOk)
    assert "500 images/s (50 MB/s) are read, each answer comes after 40 ms; the training steps take 100" in found.reason


def test_too_slow_with_small_files_is_to_be_packed() -> None:
    found = judge(measured(90.0), taken=100.0, decoded=400.0)
    assert isinstance(found, CheckWarning) and "unstall data pack" in found.fix and "100 kB" in found.reason


def test_too_slow_with_shards_is_not() -> None:
    found = judge(measured(90.0, has_small_files=False), taken=100.0, decoded=400.0)
    assert isinstance(found, CheckWarning) and "pack" not in found.fix


def test_small_files_that_come_quickly_enough_are_no_fault() -> None:
    assert isinstance(judge(measured(500.0), taken=None, decoded=400.0), CheckOk)


def test_what_is_little_is_not_said_to_be_nothing_and_nothing_is_unknown() -> None:
    assert "3 images/s (0.3 MB/s)" in judge(measured(3.0), taken=1.0, decoded=400.0).reason
    assert isinstance(judge(measured(0.0), taken=1.0, decoded=400.0), CheckUnknown)


def test_data_on_a_disk_is_for_another_check(tmp_path: Path) -> None:
    assert isinstance(look(context(tmp_path)), CheckOk)
