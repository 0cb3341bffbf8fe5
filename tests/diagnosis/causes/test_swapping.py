"""swapping: memory comes back from the disk all the time, and it is the program's own."""

from typing import Any

from tests.diagnosis.builders import host, journal, started, steps
from unstall.diagnosis.causes import swapping
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import HostSampled
from unstall.journal.reader import Journal

MIB = 1 << 20
THRASHING = {
    "swap_in_bytes_s": 60e6, "swap_out_bytes_s": 2e6, "major_faults_s": 10_000, "swapped_bytes": 730 * MIB, "anon_bytes": 650 * MIB,
    "cgroup_used_bytes": 660 * MIB, "cgroup_limit_bytes": 668 * MIB,
}  # fmt: skip
QUIET = {**THRASHING, "swap_in_bytes_s": 0.0, "swap_out_bytes_s": 0.0, "major_faults_s": 0}


def sampled(first: int, last: int, facts: dict[str, Any]) -> list[HostSampled]:
    return [host(at, 0.4, **facts) for at in range(first, last)]


def run(*parts: list[HostSampled]) -> Journal:
    return journal(started(), *(sample for part in parts for sample in part))


def test_found_while_memory_comes_back_from_the_disk_all_the_time() -> None:
    verdict = swapping.examine(run(sampled(0, 10, QUIET), sampled(10, 40, THRASHING)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "1.35 GiB" in verdict.summary and "668 MiB" in verdict.summary
    assert "57.2 MiB a second" in verdict.summary


def test_found_on_a_slow_disk_where_threads_wait_for_it() -> None:
    slow = {**THRASHING, "swap_in_bytes_s": 1e6, "major_faults_s": 200, "io_wait_threads": 1}
    assert isinstance(swapping.examine(run(sampled(0, 40, slow))), Found)


def test_found_tells_how_much_slower_steps_are() -> None:
    log = run(sampled(0, 40, THRASHING))
    log.extend([steps(number * 10 + 1, number * 10 + 10, at=number, each_s=0.01) for number in range(1, 20)])
    log.extend([steps(number * 10 + 1, number * 10 + 10, at=number, each_s=0.05) for number in range(26, 40)])
    verdict = swapping.examine(log)
    assert isinstance(verdict, Found)
    assert any("steps took 0.01 s before, and take 0.05 s now" in evidence.claim for evidence in verdict.evidence)


def test_clear_when_swapped_memory_is_not_needed() -> None:
    assert isinstance(swapping.examine(run(sampled(0, 12, THRASHING), sampled(12, 40, QUIET))), Clear)


def test_clear_when_another_program_swaps() -> None:
    assert isinstance(swapping.examine(run(sampled(0, 40, {**THRASHING, "major_faults_s": 0, "swapped_bytes": 0}))), Clear)


def test_clear_when_page_faults_read_a_mapped_file() -> None:
    assert isinstance(swapping.examine(run(sampled(0, 40, {**THRASHING, "swap_in_bytes_s": 0.0, "swapped_bytes": 0}))), Clear)


def test_clear_when_it_lasts_only_some_seconds() -> None:
    assert isinstance(swapping.examine(run(sampled(0, 30, QUIET), sampled(30, 37, THRASHING))), Clear)
    assert isinstance(swapping.examine(run(sampled(0, 6, THRASHING))), Clear)


def test_unknown_without_samples() -> None:
    assert isinstance(swapping.examine(journal(started())), Unknown)
