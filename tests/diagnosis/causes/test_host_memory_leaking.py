"""host_memory_leaking: memory whose floor rises evenly through several passes, and what keeps it."""

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, host, journal, started, steps
from unstall.diagnosis.causes import host_memory_leaking
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown, Verdict
from unstall.journal.events import (
    EpochEnded,
    Event,
    FunctionTraced,
    HoldingsCounted,
    HostSampled,
    KernelSpoke,
    PipelineBuilt,
    ProcessEnded,
)
from unstall.journal.reader import Journal

MIB, GIB = 1 << 20, 1 << 30


def memory(levels: list[float]) -> list[HostSampled]:
    """One sample a second, in MiB above 500."""
    return [
        host(second, 1.0, anon_bytes=int((500 + level) * MIB), rss_bytes=int((700 + level) * MIB))
        for second, level in enumerate(levels)
    ]


def epochs(length_s: float, until: float) -> list[Event]:
    """Epochs of this length, ten steps a second."""
    ends = [at * length_s for at in range(1, int(until / length_s) + 1)]
    return [EpochEnded(at=T0 + end, epoch=index, seconds=length_s) for index, end in enumerate(ends)]


def ten_steps_a_second(until: int) -> list[Event]:
    return [steps(second * 10, second * 10 + 9, at=second + 1, each_s=0.1) for second in range(until)]


def run(levels: list[float], epoch_s: float | None, *events: Event) -> Journal:
    until = len(levels)
    passes = epochs(epoch_s, until) if epoch_s else []
    return journal(started(), *memory(levels), *ten_steps_a_second(until), *passes, *events, now=until)


def held(at: float, looks: int, grown: int, grown_mib: float, **more: Any) -> HoldingsCounted:
    holder = {
        "name": "self.history", "kind": "list", "length": grown + 10, "grown": grown, "looks": looks, "holds": "Tensor",
        "bytes_each": MIB, "bounded": False, "where": f"{FOLDER}/train.py:30", "sheds": False, **more,
    }  # fmt: skip
    return HoldingsCounted(at=T0 + at, memory_bytes=GIB, grown_bytes=int(grown_mib * MIB), step=int(at * 10), holders=[holder])


def base() -> HoldingsCounted:
    return HoldingsCounted(at=T0 + 4, memory_bytes=500 * MIB, grown_bytes=0, step=20, holders=[])


RISING = [10.0 * second for second in range(60)]


def found(verdict: Verdict) -> Found:
    assert isinstance(verdict, Found), verdict
    return verdict


def test_found_over_many_passes_without_knowing_what_is_kept() -> None:
    verdict = found(host_memory_leaking.examine(run(RISING, 2.0)))
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where is None
    assert "600 MiB a minute" in verdict.summary
    assert "full in 14 min" in verdict.summary


def test_found_with_the_list_that_keeps_it_and_its_line() -> None:
    verdict = found(host_memory_leaking.examine(run(RISING, 2.0, base(), held(50, looks=5, grown=460, grown_mib=460))))
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:30"
    assert "self.history at train.py:30 has grown by 460 entries: Tensor" in verdict.summary


def test_found_within_one_pass_when_a_list_is_never_emptied() -> None:
    verdict = found(host_memory_leaking.examine(run(RISING, None, base(), held(50, looks=5, grown=460, grown_mib=460))))
    assert verdict.where == "train.py:30"


def test_found_for_tensors_that_keep_their_graph() -> None:
    kept = held(50, looks=4, grown=460, grown_mib=460, holds="Tensor with its graph", bytes_each=None, name="losses")
    verdict = found(host_memory_leaking.examine(run(RISING, None, base(), kept)))
    assert "detach" in verdict.actions[0]


def test_found_for_a_cache_after_repeat() -> None:
    cache = PipelineBuilt(at=T0, stage="cache", where=f"{FOLDER}/data.py:28", arguments={"elements": -1, "element_bytes": 9_000})
    verdict = found(host_memory_leaking.examine(run(RISING, None, cache)))
    assert verdict.where == "data.py:28"
    assert "before repeat()" in verdict.actions[0]


def test_found_for_functions_that_are_made_anew_and_kept() -> None:
    traced = FunctionTraced(at=T0 + 55, function="Trainer.build.step", where=f"{FOLDER}/train.py:36", count=400, calls=400,
                            seconds=30, why="made anew", objects=400)  # fmt: skip
    verdict = found(host_memory_leaking.examine(run(RISING, None, traced)))
    assert verdict.where == "train.py:36"


def test_found_counts_in_steps_where_the_machine_slows_down() -> None:
    slow = [10.0 * min(second, 30) + max(0, second - 30) * 2.5 for second in range(61)]
    events: list[Event] = [steps(second * 8, second * 8 + 7, at=second + 1) for second in range(30)]
    events += [steps(240 + second * 2, 241 + second * 2, at=31 + second) for second in range(30)]
    assert isinstance(host_memory_leaking.examine(journal(started(), *memory(slow), *events, *epochs(2.0, 60))), Found)


def test_the_kill_at_the_end_follows_from_it() -> None:
    killed = (
        ProcessEnded(at=T0 + 60, pid=1, signal=9),
        KernelSpoke(at=T0 + 60, line="Out of memory: Killed process 1 (python) anon-rss:1000kB", pid=1),
    )
    assert "full in" not in found(host_memory_leaking.examine(run(RISING, 2.0, *killed))).summary
    assert "host_memory_exhausted" in host_memory_leaking.EXPLAINS


def test_what_is_let_go_after_the_last_step_does_not_count() -> None:
    let_go = [*memory(RISING), *(host(60.5 + second / 2, 1.0, anon_bytes=300 * MIB) for second in range(3))]
    events: list[Event] = [*ten_steps_a_second(60), ProcessEnded(at=T0 + 62, pid=1, exit_code=0)]
    assert isinstance(host_memory_leaking.examine(journal(started(), *let_go, *events, *epochs(2.0, 60))), Found)
    kept = held(50, looks=5, grown=460, grown_mib=460)
    unseen_steps = journal(started(), *let_go, events[-1], base(), kept)
    assert isinstance(host_memory_leaking.examine(unseen_steps), Found)


def test_clear_when_memory_grows_in_the_first_pass_and_then_stays() -> None:
    warm = [10.0 * min(second, 20) for second in range(60)]
    assert isinstance(host_memory_leaking.examine(run(warm, 20.0)), Clear)
    assert isinstance(host_memory_leaking.examine(run(warm[:21], 20.0)), Clear)


def test_clear_while_a_cache_fills_in_a_long_first_pass() -> None:
    fills = held(50, looks=5, grown=460, grown_mib=460, kind="dict", name="self.decoded")
    assert isinstance(host_memory_leaking.examine(run(RISING, None, base(), fills)), Clear)


def test_clear_when_each_pass_gives_back_what_it_collected() -> None:
    saw = [10.0 * (second % 15) for second in range(75)]
    assert isinstance(host_memory_leaking.examine(run(saw, 15.0)), Clear)
    emptied = held(14, looks=4, grown=100, grown_mib=130, sheds=True)
    assert isinstance(host_memory_leaking.examine(run(saw[:14], None, base(), emptied)), Clear)


def test_clear_when_growth_slows_down() -> None:
    slowing = [400 * (1 - 0.95**second) for second in range(60)]
    assert isinstance(host_memory_leaking.examine(run(slowing, 2.0)), Clear)


def test_clear_when_it_grows_by_little() -> None:
    assert isinstance(host_memory_leaking.examine(run([0.2 * second for second in range(120)], 2.0)), Clear)


def test_clear_before_any_step() -> None:
    assert isinstance(host_memory_leaking.examine(journal(started(), *memory(RISING))), Clear)


def test_clear_when_a_function_is_merely_traced_again() -> None:
    traced = FunctionTraced(at=T0 + 55, function="step", count=400, calls=400, seconds=30, why="value of step", objects=1)
    assert isinstance(host_memory_leaking.examine(run(RISING, 2.0, traced)), Clear)


def test_clear_for_a_cache_of_a_set_that_fits() -> None:
    cache = PipelineBuilt(at=T0, stage="cache", arguments={"elements": 1_500, "element_bytes": 300_000})
    assert isinstance(host_memory_leaking.examine(run(RISING, None, cache)), Clear)


def test_clear_for_a_replay_memory_with_a_limit() -> None:
    bounded = held(50, looks=5, grown=460, grown_mib=460, kind="deque", bounded=True)
    assert isinstance(host_memory_leaking.examine(run(RISING, None, base(), bounded)), Clear)
    assert isinstance(host_memory_leaking.examine(run(RISING, 2.0, base(), bounded)), Clear)


def test_unknown_without_samples() -> None:
    assert isinstance(host_memory_leaking.examine(journal(started())), Unknown)
