"""Cores that are there, and cores that only seem to be."""

from __future__ import annotations

from unstall.planning.preflight.check import CheckOk, CheckWarning
from unstall.planning.preflight.checks.cores import judge


def test_as_many_workers_as_cores_fit() -> None:
    assert isinstance(judge(machine=8, allowed=8, quota=None, load=1.0, threads=8), CheckOk)


def test_a_quota_below_the_visible_cores_warns_with_the_number_of_workers_to_set() -> None:
    found = judge(machine=64, allowed=64, quota=4.0, load=1.0, threads=64)
    assert isinstance(found, CheckWarning)
    assert "the time of 4 cores, 64 are visible" in found.reason and found.fix == "--num-input-workers 4"


def test_a_quota_that_the_workers_keep_to_fits() -> None:
    assert isinstance(judge(machine=64, allowed=64, quota=4.0, load=1.0, threads=4), CheckOk)


def test_far_more_workers_than_cores_warn() -> None:
    assert isinstance(judge(machine=2, allowed=2, quota=None, load=0.0, threads=9), CheckWarning)


def test_cores_that_others_keep_busy_warn() -> None:
    found = judge(machine=8, allowed=8, quota=None, load=7.5, threads=8)
    assert isinstance(found, CheckWarning) and "busy" in found.reason
