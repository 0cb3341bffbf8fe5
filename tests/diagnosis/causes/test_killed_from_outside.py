"""killed_from_outside: ended by a signal that it did not send itself, with memory to spare."""

from __future__ import annotations

import signal

import pytest

from tests.diagnosis.builders import T0, host, journal, started, steps, stuck
from unstall.diagnosis.causes import killed_from_outside
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import (
    Event,
    KillsCounted,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    SignalRaised,
    SignalSent,
)
from unstall.journal.reader import Journal

PROGRAM_STARTED = ProgramStarted(at=T0 + 1, pid=1)
NO_KILLS = KillsCounted(at=T0 + 60, in_group=0, on_machine=0, final=True)


def ended(number: int | None = None, code: int | None = None, pid: int = 1, **more: bool) -> ProcessEnded:
    return ProcessEnded(at=T0 + 60, pid=pid, exit_code=code, signal=number, **more)


def run(*events: Event, **memory: int) -> Journal:
    return journal(started(), PROGRAM_STARTED, steps(0, 200, at=59.5), host(30), host(59, **memory), *events, now=60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU])
def test_found_for_a_signal_that_others_send(number: signal.Signals) -> None:
    verdict = killed_from_outside.examine(run(ended(number)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert number.name in verdict.summary
    assert "step 201" in verdict.summary


def test_found_for_sigkill_where_the_kernel_killed_nobody() -> None:
    verdict = killed_from_outside.examine(run(ended(signal.SIGKILL), NO_KILLS))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    uncounted = killed_from_outside.examine(run(ended(signal.SIGKILL)))
    assert isinstance(uncounted, Found)
    assert uncounted.certainty is Certainty.LIKELY


def test_clear_for_sigkill_where_memory_ran_out() -> None:
    counted = KillsCounted(at=T0 + 60, in_group=1, on_machine=1, final=True)
    assert isinstance(killed_from_outside.examine(run(ended(signal.SIGKILL), counted)), Clear)
    full = run(ended(signal.SIGKILL), cgroup_used_bytes=99, cgroup_limit_bytes=100, rss_bytes=98)
    assert isinstance(killed_from_outside.examine(full), Clear)


def test_clear_for_a_signal_that_the_program_sent_itself() -> None:
    raised = SignalRaised(at=T0 + 59.9, pid=1, target=1, signal=signal.SIGTERM)
    assert isinstance(killed_from_outside.examine(run(raised, ended(signal.SIGTERM))), Clear)
    to_another = SignalRaised(at=T0 + 59.9, pid=1, target=4711, signal=signal.SIGTERM)
    assert isinstance(killed_from_outside.examine(run(to_another, ended(signal.SIGTERM))), Found)


def test_clear_for_a_signal_that_came_through_unstall_or_from_it() -> None:
    passed_on = SignalSent(at=T0 + 59.9, signal=signal.SIGTERM, sender_pid=99)
    interrupt = SignalSent(at=T0 + 59.9, signal=signal.SIGINT, from_terminal=True)
    assert isinstance(killed_from_outside.examine(run(passed_on, ended(signal.SIGTERM))), Clear)
    assert isinstance(killed_from_outside.examine(run(interrupt, ended(signal.SIGINT))), Clear)
    assert isinstance(killed_from_outside.examine(run(ended(signal.SIGTERM, stopped_by_us=True))), Clear)


def test_clear_for_a_crash_and_for_an_exit() -> None:
    assert isinstance(killed_from_outside.examine(run(ended(signal.SIGSEGV))), Clear)
    assert isinstance(killed_from_outside.examine(run(ended(code=1))), Clear)
    assert isinstance(killed_from_outside.examine(run(ended(code=143))), Clear)
    assert isinstance(killed_from_outside.examine(run()), Clear)


def test_a_shell_around_the_program_tells_the_signal_in_its_exit_code() -> None:
    cut_off = run(NO_KILLS, ended(code=137, pid=99))
    assert isinstance(killed_from_outside.examine(cut_off), Found)
    orderly = run(ProgramEnded(at=T0 + 59, pid=1), ended(code=143, pid=99))
    assert isinstance(killed_from_outside.examine(orderly), Clear)


def test_clear_where_it_was_stuck_and_somebody_ended_it() -> None:
    standing = stuck(ProcessEnded(at=T0 + 111, pid=1, signal=signal.SIGTERM))
    assert isinstance(killed_from_outside.examine(standing), Clear)


def test_unknown_where_nothing_was_seen_of_the_memory() -> None:
    assert isinstance(killed_from_outside.examine(journal(started(), PROGRAM_STARTED, ended(signal.SIGKILL))), Unknown)
