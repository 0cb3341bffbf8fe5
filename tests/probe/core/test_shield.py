"""A probe that costs more than its share is skipped. What counts is the time that it takes from the program, not the machine's load."""

import multiprocessing
import os
import time
from collections.abc import Iterator

import pytest

from unstall.journal.events import Event, ProbeFailed
from unstall.probe.core.shield import COST_ALLOWANCE_S, Shield

BUSY = 6  # processes beside ours, all on one core


def work(seconds: float) -> str:
    """So much of a core's time, however long that takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return "done"


@pytest.fixture
def one_busy_core() -> Iterator[None]:
    """Our process and several that compute share one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [multiprocessing.get_context("spawn").Process(target=work, args=(600.0,), daemon=True) for _ in range(BUSY)]
    try:
        for process in others:
            process.start()
        began = time.monotonic()
        while time.monotonic() - began < 60 and load_here() < 2.0:
            pass
        yield
    finally:
        for process in others:
            process.kill()
            process.join()
        os.sched_setaffinity(0, cores)


def load_here() -> float:
    """How many times as long as on a free core some work takes."""
    began = time.monotonic()
    work(0.05)
    return (time.monotonic() - began) / 0.05


def test_a_probe_over_its_share_is_skipped() -> None:
    shield = Shield(lambda event: None)
    results = [shield.within_budget("costly", work, COST_ALLOWANCE_S / 4) for _ in range(8)]
    assert results[:4] == ["done"] * 4
    assert results[-1] is None


def test_a_probe_that_sleeps_costs_the_program_as_much_as_one_that_computes() -> None:
    shield = Shield(lambda event: None)
    results = [shield.within_budget("sleeps", lambda: time.sleep(COST_ALLOWANCE_S / 2) or "slept") for _ in range(5)]
    assert results[0] == "slept"
    assert results[-1] is None


@pytest.mark.usefixtures("one_busy_core")
def test_on_a_busy_core_waiting_for_it_is_no_cost_of_the_probe() -> None:
    shield = Shield(lambda event: None)
    began = time.monotonic()
    results = [shield.within_budget("costly", work, COST_ALLOWANCE_S / 8) for _ in range(6)]
    assert time.monotonic() - began > COST_ALLOWANCE_S, "the core was not busy"
    assert results == ["done"] * 6


def test_a_probe_that_fails_again_and_again_is_switched_off() -> None:
    events: list[Event] = []
    shield = Shield(events.append)
    for _ in range(5):
        shield.within_budget("broken", int, "no number")
    failed = [event for event in events if isinstance(event, ProbeFailed)]
    assert [event.disabled for event in failed] == [False, False, True]
