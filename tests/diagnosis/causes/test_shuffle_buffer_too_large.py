"""shuffle_buffer_too_large: what the buffer will need is more than what was free, and it fills."""

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, host, journal, started, steps
from unstall.diagnosis.causes import shuffle_buffer_too_large
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event, HostSampled, KernelSpoke, KillsCounted, PipelineBuilt, ProcessEnded
from unstall.journal.reader import Journal

MIB, GIB = 1 << 20, 1 << 30
KILLED = (
    ProcessEnded(at=T0 + 30, pid=1, signal=9),
    KillsCounted(at=T0 + 30.1, in_group=1, on_machine=1, limit_bytes=4 * GIB, final=True),
    KernelSpoke(at=T0 + 30.2, line="Memory cgroup out of memory: Killed process 1 (python) anon-rss:4194304kB", pid=1),
)


def shuffle(buffer: int, **sizes: Any) -> PipelineBuilt:
    return PipelineBuilt(at=T0 + 5, stage="shuffle", where=f"{FOLDER}/train.py:34", arguments={"argument_0": buffer, **sizes})


def filling(grown_bytes_s: int, seconds: int = 20) -> list[HostSampled]:
    """A control group of 4 GiB, 1 GiB used when the buffer was made."""
    return [
        host(
            5 + second,
            1.0,
            rss_bytes=GIB + second * grown_bytes_s,
            cgroup_used_bytes=GIB + second * grown_bytes_s,
            cgroup_limit_bytes=4 * GIB,
        )
        for second in range(seconds)
    ]


def run(stage: PipelineBuilt, grown_bytes_s: int, *events: Event) -> Journal:
    return journal(started(), stage, *filling(grown_bytes_s), *events, now=31)


def test_found_before_the_memory_is_full() -> None:
    verdict = shuffle_buffer_too_large.examine(run(shuffle(20_000, element_bytes=MIB, elements=-2), 50 * MIB))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "train.py:34"
    assert "keeps 20,000 elements, which need 19.5 GiB; 3 GiB were free" in verdict.summary


def test_certain_when_half_of_the_free_memory_is_filled() -> None:
    verdict = shuffle_buffer_too_large.examine(run(shuffle(20_000, element_bytes=MIB, elements=-2), 100 * MIB))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN


def test_found_after_the_kill_and_names_it() -> None:
    verdict = shuffle_buffer_too_large.examine(run(shuffle(4_096, element_bytes=MIB, elements=5_000), 150 * MIB, *KILLED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "The kernel killed the program, and no step was seen to end before that" in verdict.summary


def test_found_after_the_kill_where_elements_differ_in_size() -> None:
    verdict = shuffle_buffer_too_large.examine(run(shuffle(2_048, element_bytes=None, elements=-2), 150 * MIB, *KILLED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_clear_when_the_buffer_fits() -> None:
    assert isinstance(shuffle_buffer_too_large.examine(run(shuffle(1_000, element_bytes=MIB, elements=-1), 50 * MIB)), Clear)


def test_clear_when_the_whole_set_is_smaller_than_the_buffer() -> None:
    assert isinstance(shuffle_buffer_too_large.examine(run(shuffle(50_000, element_bytes=MIB, elements=800), 50 * MIB)), Clear)


def test_clear_when_memory_does_not_grow_as_the_plan_says() -> None:
    assert isinstance(shuffle_buffer_too_large.examine(run(shuffle(20_000, element_bytes=MIB, elements=-2), MIB)), Clear)


def test_clear_when_steps_have_ended_since() -> None:
    trained = run(shuffle(20_000, element_bytes=MIB, elements=-2), 100 * MIB, steps(0, 3, at=12))
    assert isinstance(shuffle_buffer_too_large.examine(trained), Clear)


def test_clear_when_elements_differ_and_nothing_was_killed() -> None:
    assert isinstance(shuffle_buffer_too_large.examine(run(shuffle(2_048, element_bytes=None, elements=-2), 150 * MIB)), Clear)


def test_clear_when_killed_with_a_small_buffer_of_file_names() -> None:
    names = run(shuffle(2_048, element_bytes=64, elements=-2), 150 * MIB, *KILLED)
    assert isinstance(shuffle_buffer_too_large.examine(names), Clear)


def test_unknown_without_a_look_at_the_memory() -> None:
    assert isinstance(shuffle_buffer_too_large.examine(journal(started(), shuffle(2_048, element_bytes=MIB))), Unknown)
