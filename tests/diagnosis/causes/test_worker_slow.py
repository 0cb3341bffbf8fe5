"""worker_slow: one worker needs more time of its own than the others, which wait for it."""

from __future__ import annotations

import pytest

from tests.crew.builders import REDUCES, crew, machine, member, membership, paced
from tests.diagnosis.builders import T0, host, journal, main, py, stacks
from unstall.crew.crew import Member
from unstall.diagnosis.causes import worker_slow
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import CircumstancesSeen, Event, FunctionTraced, PhaseBegan, PhaseEnded

COMPUTES = main(py("train.py", "augment", 50), py("train.py", "<module>", 70))


def worker(number: int, *events: Event, of: int = 2, **pace: float) -> Member:
    return member(number, journal(*paced(**pace), *events), of=of)  # type: ignore[arg-type]


def examined(*workers: Member) -> object:
    return worker_slow.examine_crew(crew(*workers))


def test_found_by_its_input_with_how_much_and_since_when() -> None:
    """All steps take 100 ms, of which the input of worker 1 takes 60."""
    verdict = examined(worker(0), worker(1, wait_s=0.06), worker(2))
    assert isinstance(verdict, Found)
    assert verdict.effect is Effect.SLOWS and verdict.certainty is Certainty.LIKELY
    assert verdict.details["workers"] == [1]
    assert "Worker 1 (host-1) holds the other 2 workers: its input takes 60 ms a step, that of the others 2 ms" in verdict.summary
    assert "A step takes 100 ms; without that it would take about 42 ms" in verdict.summary


def test_certain_where_the_others_are_seen_to_wait() -> None:
    verdict = examined(worker(0, *looks(REDUCES, 5)), worker(1, wait_s=0.06))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN


def test_since_when() -> None:
    fast_at_first = worker(1, groups=100, wait_s=0.002, slow_from=60, slow_wait_s=0.06)
    verdict = examined(worker(0, groups=100), fast_at_first)
    assert isinstance(verdict, Found), verdict
    assert "It has been so for 43 s" in verdict.summary


def test_found_by_what_it_does_between_its_steps() -> None:
    verdict = examined(worker(0), worker(1, *looks(COMPUTES, 10), between_s=0.05))
    assert isinstance(verdict, Found)
    assert "what it does between the steps takes 50 ms a step" in verdict.summary


def test_clear_where_it_may_be_the_others_that_it_waits_for_between_its_steps() -> None:
    """An all-reduce in a callback: the quick one spends its time there."""
    assert isinstance(examined(worker(0, *looks(REDUCES, 9), between_s=0.05), worker(1)), Clear)
    assert isinstance(examined(worker(0, between_s=0.05), worker(1)), Clear)


def looks(thread: object, in_it: int, of: int = 10) -> list[Event]:
    threads = [thread] * in_it + [main(py("train.py", "other", 9))] * (of - in_it)
    return [stacks(each, at=10 + number) for number, each in enumerate(threads)]  # type: ignore[arg-type]


def test_found_by_who_is_never_in_the_collective() -> None:
    verdict = examined(worker(0, *looks(REDUCES, 9)), worker(1, *looks(COMPUTES, 10)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY and verdict.details["workers"] == [1]


def cores(number: int, used: float, has: float, **more: float) -> Member:
    seen = CircumstancesSeen(at=T0, machine={"cores": has})
    return worker(number, seen, *(host(float(at), used, **more) for at in range(5, 40)))


def test_found_by_cores_with_what_its_machine_tells() -> None:
    verdict = examined(cores(0, 0.8, 4.0), cores(1, 0.98, 1.0, queued_cores=2.0))
    assert isinstance(verdict, Found)
    assert [evidence.claim for evidence in verdict.evidence] == [
        "it uses 98 % of its cores, the others 20 %",
        "2.0 of its threads wait for a core at any time: its machine is crowded",
    ]


def test_found_by_memory() -> None:
    verdict = examined(cores(0, 0.8, 4.0), cores(1, 0.5, 4.0, swap_in_bytes_s=8e6, swap_out_bytes_s=4e6))
    assert isinstance(verdict, Found)
    assert "its machine swaps 12 MB a second" in [evidence.claim for evidence in verdict.evidence]
    both = [cores(number, 0.5, 4.0, swap_in_bytes_s=8e6) for number in (0, 1)]
    assert isinstance(examined(*both), Clear)


def test_clear_for_one_that_spins_while_it_waits() -> None:
    """All of its one core is used, and nothing waits for a core."""
    assert isinstance(examined(cores(0, 0.8, 4.0), cores(1, 0.98, 1.0)), Clear)


def test_clear_when_all_are_alike_however_slow() -> None:
    assert isinstance(examined(worker(0, wait_s=0.06), worker(1, wait_s=0.065)), Clear)
    assert isinstance(examined(cores(0, 3.9, 4.0), cores(1, 0.98, 1.0)), Clear)
    assert isinstance(examined(worker(0, *looks(REDUCES, 4)), worker(1, *looks(REDUCES, 5))), Clear)


def test_clear_when_they_do_not_wait_for_each_other() -> None:
    assert isinstance(examined(worker(0), worker(1, each_s=0.2, wait_s=0.15)), Clear)


@pytest.mark.parametrize(
    "alone",
    [
        [PhaseBegan(at=T0 + 20, phase="validate"), PhaseEnded(at=T0 + 28, phase="validate", seconds=8.0)],
        [FunctionTraced(at=T0 + 1, function="step", count=1, seconds=9.0)],
    ],
)
def test_clear_when_one_evaluates_alone_or_compiles_for_longer(alone: list[Event]) -> None:
    assert isinstance(examined(worker(0, *alone), worker(1)), Clear)


def test_clear_for_one_long_pause_between_two_steps() -> None:
    """The median of its groups counts: a picture now and then is no slow worker."""
    usual = paced(between_s=0.001)
    long = paced(between_s=0.09)
    assert isinstance(examined(worker(0), member(1, journal(*usual[:30], *long[30:33], *usual[33:]))), Clear)


def test_unknown_with_too_few_steps_or_one_run() -> None:
    assert isinstance(examined(worker(0, groups=5), worker(1, groups=5)), Unknown)
    assert isinstance(worker_slow.examine(journal(membership(1), machine(1))), Unknown)
    assert isinstance(worker_slow.examine(journal(machine(1))), Clear)
