"""Whether a program that moves after a stall has gone on, or is only on its way out."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import pytest

from tests.diagnosis.builders import T0, journal, stalled, steps
from unstall.diagnosis.host_memory import Room
from unstall.journal.events import ErrorRaised, Event, FitBegan, SignalSent
from unstall.journal.pulse import Beat
from unstall.supervisor.timeouts import (
    LEAVES_WITHIN_S,
    STEADY_AFTER_S,
    SamplingInterval,
    is_leaving,
    is_signal_pending,
    is_steady,
    read_history,
)

STALL = stalled(since=100, at=108, step=200)
ASKED = SignalSent(at=T0 + 115, signal=signal.SIGTERM)
BEFORE = Beat("train", began=0.0, beat=0.0, step=200, epoch=0, input_since=0.0, pid=1, steps_done=195)


def leaves(*events: Event, beat: Beat | None = BEFORE, before: Beat | None = BEFORE, moved_at: float = 120.0) -> bool:
    return is_leaving(journal(STALL, *events), STALL, before, beat, T0 + moved_at)


def test_without_a_request_to_end_it_has_gone_on() -> None:
    assert not leaves()
    assert not leaves(SignalSent(at=T0 + 115, signal=signal.SIGWINCH))
    assert not leaves(SignalSent(at=T0 + 50, signal=signal.SIGTERM))  # long before: it has taken no notice of it


@pytest.mark.parametrize("asked", [ASKED, ErrorRaised(at=T0 + 115, kind="KeyboardInterrupt", thread="MainThread")])
def test_after_a_request_it_leaves_unless_it_makes_a_step_or_begins_again(asked: Event) -> None:
    assert leaves(asked)
    assert leaves(asked, beat=replace(BEFORE, steps_done=200))  # steps from before the stall, told late
    assert leaves(asked, beat=replace(BEFORE, phase="validate", steps_done=260))  # it evaluates on its way out
    assert not leaves(asked, beat=replace(BEFORE, step=201))
    assert not leaves(asked, FitBegan(at=T0 + 118))


def test_a_validation_that_makes_steps_has_gone_on() -> None:
    stood = replace(BEFORE, phase="validate")
    assert leaves(ASKED, before=stood, beat=stood)
    assert not leaves(ASKED, before=stood, beat=replace(stood, steps_done=196))


def test_a_program_without_a_pulse_is_given_its_time_to_leave() -> None:
    assert leaves(ASKED, before=None, beat=None)
    assert not leaves(ASKED, before=None, beat=None, moved_at=115 + LEAVES_WITHIN_S + 1)


def test_a_request_counts_before_it_was_passed_on() -> None:
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        assert not is_signal_pending() and not leaves()
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # to this thread: others do not hold it back
        assert is_signal_pending() and leaves()
    finally:
        signal.sigtimedwait({signal.SIGTERM}, 1)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


# A run is looked at often at first, and seldom while it goes well for long; the moment it does not, it is looked at again.


GIB = 2**30
ROOM = Room(4 * GIB, 16 * GIB, "the machine's memory")


def looks(interval: SamplingInterval, until_s: int, steady_from_s: float = 1e9) -> list[int]:
    return [now for now in range(until_s) if interval.is_due(float(now), float(now), now >= steady_from_s)]


def test_often_at_first_then_more_seldom_then_seldom() -> None:
    assert looks(SamplingInterval(1.0, 3.0, 15.0, early_until_s=5.0), 60, steady_from_s=20.0) == [
        0,
        1,
        2,
        3,
        4,
        7,
        10,
        13,
        16,
        19,
        34,
        49,
    ]


def test_what_was_put_off_is_due_when_the_run_is_calm_no_longer() -> None:
    interval = SamplingInterval(1.0, 3.0, 15.0)
    assert interval.is_due(1000.0, 1000.0, is_steady=True)
    assert not interval.is_due(1004.0, 1004.0, is_steady=True)
    assert interval.is_due(1004.0, 1004.0, is_steady=False)


def test_at_once_is_at_once() -> None:
    interval = SamplingInterval(1.0, 3.0, 15.0)
    assert interval.is_due(1000.0, 1000.0, is_steady=True)
    interval.at_once()
    assert interval.is_due(1000.1, 1000.1, is_steady=True)


def test_a_run_that_moves_with_room_to_spare_is_calm_after_a_while() -> None:
    assert is_steady(STEADY_AFTER_S, 1.0, 20.0, ROOM, None)
    assert is_steady(STEADY_AFTER_S, 1.0, 20.0, None, None)
    assert not is_steady(STEADY_AFTER_S - 1, 1.0, 20.0, ROOM, None)


@pytest.mark.parametrize(
    ("silent_s", "memory", "full_in_s"),
    [(10.0, ROOM, None), (1.0, Room(13 * GIB, 16 * GIB, "the machine's memory"), None), (1.0, ROOM, 600.0)],
    ids=["it is silent for half of what is late", "memory is nearly full", "memory will be full soon"],
)
def test_a_run_is_not_calm_where_something_may_come(silent_s: float, memory: Room, full_in_s: float | None) -> None:
    assert not is_steady(STEADY_AFTER_S * 10, silent_s, 20.0, memory, full_in_s)


def test_what_a_step_usually_takes_is_told_of_the_steps_and_not_of_the_groups() -> None:
    """The first groups have a step each, quick where its batch was ready before the training began."""
    first = [steps(number, number, at=1 + number, each_s=0.0002) for number in range(1, 9)]
    assert read_history(journal(*first, steps(9, 206, at=10, each_s=0.005)), "train") == (0.005, 0.005)
    assert read_history(journal(steps(1, 10, at=1, each_s=0.25), steps(11, 20, at=2, each_s=0.75)), "train")[0] == 0.5
    assert read_history(journal(*first), "train")[0] == 0.0002
