"""clocks_apart: the end of a step, which is one moment, is written down at two times."""

from __future__ import annotations

from tests.diagnosis.builders import T0, journal
from tests.diagnosis.workers.builders import machine, member, paced, rank_seen, run_group
from unstall.diagnosis.causes import clocks_apart
from unstall.diagnosis.verdict import Clear, Effect, Found, Unknown
from unstall.diagnosis.workers.members import Member
from unstall.journal.events import Event, MachineSeen, StepsEnded, WorkerJoined


def worker(number: int, ahead_s: float = 0.0, on: MachineSeen | None = None, jolts: bool = True) -> Member:
    return member(number, journal(*paced(ahead_s=ahead_s, jolts=jolts)), on=on, of=3)


def test_found_with_whose_how_far_and_how_well_it_is_known() -> None:
    verdict = clocks_apart.examine_workers(run_group(worker(0), worker(1, 40.0), worker(2)))
    assert isinstance(verdict, Found)
    assert verdict.effect is Effect.SPOILS
    assert verdict.summary == "The clock of worker 1 (host-1) is 40.0 s ahead of that of the others (± 0.1 s)."
    assert verdict.details["workers"] == [1]


def test_found_where_the_first_is_the_one_that_is_off() -> None:
    verdict = clocks_apart.examine_workers(run_group(worker(0, 90.0), worker(1), worker(2)))
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith("The clock of worker 0 (host-0) is 90.0 s ahead of that of the others")


def met(number: int, ahead_s: float | None, *steps: Event) -> Member:
    """What it was told of the time when they met, some of its steps."""
    joined = WorkerJoined(at=T0, worker=number, of=3, coordinator="10.0.0.1:8476", ahead_s=ahead_s, ahead_error_s=0.02)
    return member(number, journal(joined, *steps), of=3)


def test_found_by_what_they_said_when_they_met_before_any_step_was_made() -> None:
    verdict = clocks_apart.examine_workers(run_group(met(0, None), met(1, 40.0), met(2, 0.1)))
    assert isinstance(verdict, Found)
    assert verdict.summary == "The clock of worker 1 (host-1) is 40.0 s ahead of that of the others (± 0.0 s)."
    assert verdict.evidence[0].claim == "when they met, the times that they told each other were 40.0 s apart"
    off = clocks_apart.examine_workers(run_group(met(0, None), met(1, -90.0), met(2, -90.1)))
    assert isinstance(off, Found) and off.summary.startswith("The clock of worker 0 (host-0) is 90.1 s ahead")


def test_a_clock_that_was_set_right_since_they_met_is_clear_by_the_steps() -> None:
    assert isinstance(clocks_apart.examine_workers(run_group(met(0, None, *paced()), met(1, 40.0, *paced()))), Clear)


def test_clear_within_what_a_time_server_keeps() -> None:
    assert isinstance(clocks_apart.examine_workers(run_group(worker(0), worker(1, 0.3), worker(2, -0.2))), Clear)


def test_clear_on_one_machine_whatever_its_workers_write() -> None:
    """Of one machine, whose clock stands the same to its start: the second was merely started later."""
    here = {"hostname": "one", "boot_id": "boot", "clock_s": 1000.0}
    assert isinstance(
        clocks_apart.examine_workers(run_group(worker(0, 0.0, machine(**here)), worker(1, 40.0, machine(**here)))), Clear
    )


def test_unknown_where_nothing_shows_that_they_wait_for_each_other() -> None:
    even = run_group(worker(0, jolts=False), worker(1, 40.0, jolts=False))
    assert isinstance(clocks_apart.examine_workers(even), Unknown)


def test_unknown_without_steps_or_with_one_run() -> None:
    small = [StepsEnded(at=T0 + number, first=number, last=number) for number in range(3)]
    assert isinstance(clocks_apart.examine_workers(run_group(member(0, journal(*small)), member(1, journal(*small)))), Unknown)
    assert isinstance(clocks_apart.examine(journal(rank_seen(1))), Unknown)
    assert isinstance(clocks_apart.examine(journal(machine(1))), Clear)
