"""worker_slow: one worker needs more time of its own than the others, which wait for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnosis.builders import T0, host, journal, main, py, stacks
from tests.diagnosis.workers.builders import REDUCES, machine, member, paced, rank_seen, run_group
from unstall.diagnosis.causes import worker_slow
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.diagnosis.workers.members import Member
from unstall.journal.events import (
    CircumstancesSeen,
    Event,
    FunctionTraced,
    PhaseBegan,
    PhaseEnded,
    StepsEnded,
    WorkerFaltered,
    WorkerRecovered,
)

COMPUTES = main(py("train.py", "augment", 50), py("train.py", "<module>", 70))


def worker(number: int, *events: Event, of: int = 2, **step_times: float) -> Member:
    return member(number, journal(*paced(**step_times), *events), of=of)  # type: ignore[arg-type]


def examined(*workers: Member) -> object:
    return worker_slow.examine_workers(run_group(*workers))


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
        "2.0 of its threads wait for a core at any time",
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


# --- steps have become longer ---


def longer(
    number: int, of: int = 2, before: dict[str, float] | None = None, since: dict[str, float] | None = None, **own: float
) -> Member:
    """Steps take 100 ms for thirty seconds, then 400 ms, on all alike. The machine is looked at each second; `since`: how it was
    from then on."""
    quick = paced(groups=30, jolts=False)
    waits = own.get("slow_wait_s", 0.002)
    slow = [
        StepsEnded(at=T0 + 32 + 2 * group, first=300 + 5 * group, last=304 + 5 * group, seconds=2.0, busy_s=1.9, longest_s=0.4,
                   wait_s=5 * waits, waited_steps=5)
        for group in range(4)
    ]  # fmt: skip
    hosts = [host(float(at), 0.5, **((before if at <= 30 else since) or {})) for at in range(2, 39)]
    return member(number, journal(*quick, *slow, *hosts), of=of)


def test_found_by_what_keeps_it_from_running_since_steps_became_longer() -> None:
    verdict = examined(longer(0), longer(1, since={"queued_cores": 0.9}))
    assert isinstance(verdict, Found)
    assert verdict.details["workers"] == [1] and verdict.effect is Effect.SLOWS
    assert "Worker 1 (host-1) holds the other worker: it is kept from running for want of a core" in verdict.summary
    assert "It has been so for 8 s" in verdict.summary
    assert [evidence.claim for evidence in verdict.evidence][:2] == [
        "a step takes 400 ms, before it took 100 ms",
        "0.9 of its threads wait for a core at any time, before 0.0",
    ]


def test_found_by_a_process_that_is_stopped_again_and_again() -> None:
    verdict = examined(longer(0), longer(1, since={"stopped_share": 0.7}), longer(2))
    assert isinstance(verdict, Found)
    assert (
        "Worker 1 (host-1) holds the other 2 workers: its process is stopped, by a signal or a debugger, for 70 %"
        in verdict.summary
    )


def test_clear_where_longer_steps_have_another_reason_than_a_crowded_machine() -> None:
    """A slower network, say: nobody is kept from running, or all are, or the one that is has been so all the time."""
    crowded = {"queued_cores": 0.9}
    assert isinstance(examined(longer(0), longer(1)), Clear)
    assert isinstance(examined(longer(0, since=crowded), longer(1, since=crowded)), Clear)
    assert isinstance(examined(longer(0), longer(1, before=crowded, since=crowded)), Clear)


def test_clear_for_a_machine_that_is_crowded_where_steps_are_as_long_as_ever() -> None:
    crowded = member(
        1, journal(*paced(jolts=False), *(host(float(at), 0.5, queued_cores=0.9 * (at > 25)) for at in range(5, 40)))
    )
    assert isinstance(examined(worker(0, jolts=False), crowded), Clear)


def test_of_one_alone_it_is_said_what_has_changed_for_it_and_nothing_else() -> None:
    """The others are on other machines."""
    hindered, starved = examined(longer(3, 4, since={"stopped_share": 0.7})), examined(longer(3, 4, slow_wait_s=0.3))
    assert isinstance(hindered, Found) and "Worker 3 (host-3) holds the other 3 workers" in hindered.summary
    assert isinstance(starved, Found) and "its input takes 300 ms a step, before 2 ms" in starved.summary
    assert isinstance(examined(longer(3, 4)), Clear)
    assert isinstance(examined(longer(3, 4, slow_wait_s=0.05)), Clear), "its input is no reason for 300 ms"


# --- told by the supervisor ---


def test_what_the_supervisor_of_several_has_found_is_found_in_its_own_journal_until_it_is_over() -> None:
    output = WorkerFaltered(
        at=T0 + 50, worker=1, of=2, how="slows", why="Worker 1 holds the other.", evidence=["a step takes 400 ms"], actions=["look"],
        certainty="likely", stack=["read (disk.py:3)", "rows (loader.py:9)"],
    )  # fmt: skip
    verdict = worker_slow.examine(journal(rank_seen(0), output))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY and verdict.actions == ("look",)
    claims = [evidence.claim for evidence in verdict.evidence]
    assert claims == ["a step takes 400 ms", "it was at read (disk.py:3) < rows (loader.py:9)"]
    over = WorkerRecovered(at=T0 + 60, worker=1, of=2, seconds=10.0)
    assert isinstance(worker_slow.examine(journal(rank_seen(0), output, over)), Clear)
    assert isinstance(worker_slow.examine(journal(rank_seen(0), output, replace(over, worker=0))), Found), "another one recovered"
    assert isinstance(worker_slow.examine(journal(rank_seen(0), replace(output, how="died"))), Unknown)


def test_unknown_with_too_few_steps_or_one_run() -> None:
    assert isinstance(examined(worker(0, groups=5), worker(1, groups=5)), Unknown)
    assert isinstance(worker_slow.examine(journal(rank_seen(1), machine(1))), Unknown)
    assert isinstance(worker_slow.examine(journal(machine(1))), Clear)
