"""versions_differ: the workers do not run the same program."""

from __future__ import annotations

from tests.diagnosis.builders import T0, journal
from tests.diagnosis.workers.builders import machine, member, rank_seen, run_group, trains
from unstall.diagnosis.causes import versions_differ
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.diagnosis.workers.members import Member
from unstall.journal.events import RunStarted

SOURCES = {"train.py": "aaaaaaaa1111", "losses.py": "bbbbbbbb2222"}
VERSIONS = {"python": "3.11.4", "jax": "0.7.0", "jaxlib": "0.7.0", "numpy": "2.1.0", "driver": "570.1", "pillow": "10.0"}


def worker(number: int, sources: dict[str, str] | None = None, **versions: str) -> Member:
    return member(number, trains(), of=3, sources={**SOURCES, **(sources or {})}, versions={**VERSIONS, **versions})


def test_found_by_a_file_of_another_checkout() -> None:
    verdict = versions_differ.examine_workers(run_group(worker(0), worker(1, {"losses.py": "cccccccc3333"}), worker(2)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN and verdict.effect is Effect.SPOILS
    assert verdict.summary == (
        "The workers do not run the same: losses.py is not the same file on all. It is worker 1 that differs from most."
    )
    assert verdict.evidence[0].claim == "the file losses.py is bbbbbbbb on worker 0 and worker 2, cccccccc on worker 1"


def test_found_by_a_file_that_lies_at_another_place_on_each_machine() -> None:
    here, there = {"/home/a/project/boxes.py": "1"}, {"/mnt/b/project/boxes.py": "2"}
    verdict = versions_differ.examine_workers(run_group(worker(0, here), worker(1, there)))
    assert isinstance(verdict, Found)
    assert "project/boxes.py is not the same file on all" in verdict.summary


def test_found_by_the_framework_and_by_python() -> None:
    verdict = versions_differ.examine_workers(run_group(worker(0), worker(1, jaxlib="0.6.2", python="3.12.1")))
    assert isinstance(verdict, Found)
    assert "Python is 3.11 on worker 0, 3.12 on worker 1; jaxlib is 0.7.0 on worker 0, 0.6.2 on worker 1" in verdict.summary


def test_possible_by_the_drivers_alone() -> None:
    verdict = versions_differ.examine_workers(run_group(worker(0), worker(1, driver="535.9")))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.POSSIBLE


def test_clear_for_what_rightly_differs() -> None:
    more = {"pictures.py": "dddd", "host.yaml": "eeee"}  # loaded by one alone
    assert isinstance(versions_differ.examine_workers(run_group(worker(0, more), worker(1))), Clear)
    settings = run_group(worker(0, {"host.yaml": "1"}), worker(1, {"host.yaml": "2"}))
    assert isinstance(versions_differ.examine_workers(settings), Clear)
    assert isinstance(versions_differ.examine_workers(run_group(worker(0), worker(1, python="3.11.9", pillow="11.0"))), Clear)


def test_clear_for_jobs_that_run_other_scripts() -> None:
    serves = member(2, journal(RunStarted(at=T0, command=["python", "serve.py"])), sources={"losses.py": "other"})
    assert isinstance(versions_differ.examine_workers(run_group(worker(0), worker(1), serves)), Clear)


def test_unknown_where_nothing_was_written_down_or_with_one_run() -> None:
    assert isinstance(versions_differ.examine_workers(run_group(member(0), member(1))), Unknown)
    assert isinstance(versions_differ.examine(journal(rank_seen(1))), Unknown)
    assert isinstance(versions_differ.examine(journal(machine(1))), Clear)
