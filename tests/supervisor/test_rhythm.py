"""A run is looked at often at first, and seldom while it goes well for long; the moment it does not, it is looked at again."""

from __future__ import annotations

import pytest

from unstall.diagnosis.memory import Room
from unstall.supervisor.rhythm import CALM_AFTER_S, Rhythm, is_calm

GIB = 2**30
ROOM = Room(4 * GIB, 16 * GIB, "the machine's memory")


def looks(rhythm: Rhythm, until_s: int, calm_from_s: float = 1e9) -> list[int]:
    return [now for now in range(until_s) if rhythm.is_due(float(now), float(now), now >= calm_from_s)]


def test_often_at_first_then_more_seldom_then_seldom() -> None:
    assert looks(Rhythm(1.0, 3.0, 15.0, early_until_s=5.0), 60, calm_from_s=20.0) == [0, 1, 2, 3, 4, 7, 10, 13, 16, 19, 34, 49]


def test_what_was_put_off_is_due_when_the_run_is_calm_no_longer() -> None:
    rhythm = Rhythm(1.0, 3.0, 15.0)
    assert rhythm.is_due(1000.0, 1000.0, is_calm=True)
    assert not rhythm.is_due(1004.0, 1004.0, is_calm=True)
    assert rhythm.is_due(1004.0, 1004.0, is_calm=False)


def test_at_once_is_at_once() -> None:
    rhythm = Rhythm(1.0, 3.0, 15.0)
    assert rhythm.is_due(1000.0, 1000.0, is_calm=True)
    rhythm.at_once()
    assert rhythm.is_due(1000.1, 1000.1, is_calm=True)


def test_a_run_that_moves_with_room_to_spare_is_calm_after_a_while() -> None:
    assert is_calm(CALM_AFTER_S, 1.0, 20.0, ROOM, None)
    assert is_calm(CALM_AFTER_S, 1.0, 20.0, None, None)
    assert not is_calm(CALM_AFTER_S - 1, 1.0, 20.0, ROOM, None)


@pytest.mark.parametrize(
    ("silent_s", "memory", "full_in_s"),
    [(10.0, ROOM, None), (1.0, Room(13 * GIB, 16 * GIB, "the machine's memory"), None), (1.0, ROOM, 600.0)],
    ids=["it is silent for half of what is late", "memory is nearly full", "memory will be full soon"],
)
def test_a_run_is_not_calm_where_something_may_come(silent_s: float, memory: Room, full_in_s: float | None) -> None:
    assert not is_calm(CALM_AFTER_S * 10, silent_s, 20.0, memory, full_in_s)
