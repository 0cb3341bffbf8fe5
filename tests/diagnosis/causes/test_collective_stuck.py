"""collective_stuck: one process of several is not in the operation that the others wait in."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import T0, journal, kernel, lib, main, native, py, sleeper, stacks, started, stuck, three
from tests.diagnosis.workers.builders import loads, member, run_group, trains, waits
from unstall.diagnosis.causes import collective_stuck
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ClusterSeen, ErrorRaised, PhaseBegan, ProcessEnded, SampleFailed, ThreadStack

STEP = (py("train.py", "average_gradients", 36), py("train.py", "<module>", 72))
REDUCES = main(lib("torch/distributed/distributed_c10d.py", "all_reduce"), *STEP)
RUNS_TENSORFLOW = main(
    lib("tensorflow/python/eager/execute.py", "quick_execute"),
    lib("tensorflow/python/eager/context.py", "call_function"),
    py("train.py", "<module>", 75),
)
SAVES: ThreadStack = {**main(py("train.py", "write_checkpoint", 68), py("train.py", "<module>", 77)), "id": 7}
CONNECTED = ClusterSeen(at=T0 + 111, pid=1, connections=[{"to": "10.0.0.2:4000", "pid": None}])
COLLECTIVE_THREADS = kernel(sleeper(1), sleeper(5, name="collective_ops"), at=109)


def test_found_in_torch_with_where_the_other_process_is() -> None:
    sleeps = kernel(sleeper(7, call="clock_nanosleep"), at=109, pid=7, main=False)
    verdict = collective_stuck.examine(stuck(*three(REDUCES), *three(SAVES, main=False, pid=7), sleeps))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:36"
    assert "Process 7 does not take part: it waits for a sleep to end at train.py:68" in verdict.summary


def test_likely_where_the_other_process_is_on_another_machine() -> None:
    verdict = collective_stuck.examine(stuck(*three(REDUCES), CONNECTED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert any("10.0.0.2:4000" in evidence.claim for evidence in verdict.evidence)


@pytest.mark.parametrize("name", ["gloo::allreduce", "c10d::Work::wait", "ncclAllReduce", "xla::cpu::AllReduceThunk::Execute"])
def test_found_by_native_frames(name: str) -> None:
    deep = main(native("pthread_cond_wait", "libc.so.6"), native(name, "lib.so"), py("train.py", "<module>", 65))
    verdict = collective_stuck.examine(stuck(*three(deep, native=True)))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:65"


def test_found_in_a_step_of_tensorflow_with_collective_threads_and_peers() -> None:
    verdict = collective_stuck.examine(stuck(*three(RUNS_TENSORFLOW), CONNECTED, COLLECTIVE_THREADS))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:75"


def test_clear_in_a_step_of_tensorflow_alone() -> None:
    assert isinstance(collective_stuck.examine(stuck(*three(RUNS_TENSORFLOW), COLLECTIVE_THREADS)), Clear)
    assert isinstance(collective_stuck.examine(stuck(*three(RUNS_TENSORFLOW), CONNECTED)), Clear)


def test_clear_while_the_cluster_is_being_joined() -> None:
    joins = main(lib("torch/distributed/distributed_c10d.py", "init_process_group"), *STEP)
    assert isinstance(collective_stuck.examine(stuck(*three(joins))), Clear)


def test_what_the_absent_process_waits_for_is_the_root() -> None:
    loads: ThreadStack = {
        **main(
            py("/usr/lib/python3.11/socket.py", "readinto"),
            py("loader.py", "rows", 12),
            lib("torch/utils/data/dataloader.py", "__next__"),
            py("train.py", "<module>", 70),
        ),
        "id": 7,
    }
    root = diagnose(stuck(*three(REDUCES), *three(loads, main=False, pid=7))).root
    assert root is not None
    assert (root.cause, root.found.where) == ("generator_blocked", "loader.py:12")
    assert "collective_stuck" in root.followed_by


def test_clear_when_a_process_works_or_it_moves() -> None:
    assert isinstance(collective_stuck.examine(stuck(*three(REDUCES), cpu=0.8)), Clear)
    elsewhere = main(py("train.py", "<module>", 71))
    moving = [stacks(each, at=at) for each, at in ((REDUCES, 109), (elsewhere, 110), (REDUCES, 111))]
    assert isinstance(collective_stuck.examine(stuck(*moving)), Clear)


def test_clear_without_a_pulse_where_the_kernel_says_that_it_moves() -> None:
    """A light training without Keras: always in the same line when looked at, and yet it goes on."""
    looks = [
        kernel(sleeper(1, asleep_s=0.01, runs=100, cpu_ms=200.0), at=109),
        kernel(sleeper(1, asleep_s=0.02, runs=180, cpu_ms=260.0), at=111),
    ]
    assert isinstance(collective_stuck.examine(stuck(*three(REDUCES), *looks, phase="", sure=False)), Clear)


def test_found_from_the_error_when_the_framework_gives_up() -> None:
    message = "[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation to complete"
    error = ErrorRaised(at=T0 + 300, kind="RuntimeError", message=message, frames=[py("train.py", "step", 36)], fatal=True)
    verdict = collective_stuck.examine(journal(started(), error))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:36"


def test_the_native_stack_counts_however_many_samples_follow() -> None:
    shallow = main(lib("torch/autograd/graph.py", "_engine_run_backward"), *STEP)
    deep = main(native("c10d::Work::wait", "libtorch_cpu.so"), lib("torch/autograd/graph.py", "_engine_run_backward"), *STEP)
    samples = [stacks(deep, at=109, native=True), *(stacks(shallow, at=at) for at in range(110, 116))]
    assert isinstance(collective_stuck.examine(stuck(*samples, now=120)), Found)
    assert isinstance(collective_stuck.examine(stuck(*samples[1:], now=120)), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=T0 + 109, signal="stacks", missing="the permission", fix="sudo")
    assert collective_stuck.examine(stuck(refused)) == Unknown("the permission", "sudo")


# --- of several workers, each with its own journal ---


def test_of_several_the_one_that_has_not_come_is_named_with_its_own_line() -> None:
    verdict = collective_stuck.examine_workers(run_group(member(0, waits(), 3), member(1, loads(), 3), member(2, waits(), 3)))
    assert isinstance(verdict, Found)
    assert (verdict.certainty, verdict.where, verdict.details["workers"]) == (Certainty.CERTAIN, "loader.py:12", [1])
    assert verdict.summary == (
        "Worker 0 and worker 2 wait in a collective operation at train.py:36 of step 381, which all 3 must take part in. "
        "Worker 1 waits for the network at loader.py:12 instead."
    )


def test_of_several_one_that_has_ended_with_fewer_steps() -> None:
    ended = trains(ProcessEnded(at=T0 + 101, exit_code=0), now=101)
    verdict = collective_stuck.examine_workers(run_group(member(0, waits()), member(1, ended)))
    assert isinstance(verdict, Found)
    assert "Worker 1 ended in order after step 381 instead" in verdict.summary


def test_of_several_all_of_them_in_different_operations() -> None:
    broadcasts = main(lib("torch/distributed/distributed_c10d.py", "broadcast"), py("train.py", "<module>", 80))
    verdict = collective_stuck.examine_workers(run_group(member(0, waits()), member(1, stuck(*three(broadcasts)))))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "They wait in different operations (all_reduce, broadcast), so that none can end" in verdict.summary


def test_of_several_all_at_one_line_or_one_without_a_run() -> None:
    same = collective_stuck.examine_workers(run_group(member(0, waits()), member(1, waits())))
    assert isinstance(same, Found) and same.certainty is Certainty.LIKELY
    assert "at the same line, and it does not end" in same.summary
    lacking = collective_stuck.examine_workers(run_group(member(0, waits(), 3), member(2, waits(), 3)))
    assert isinstance(lacking, Found) and lacking.certainty is Certainty.LIKELY
    assert "of worker 1 there is no run to look at" in lacking.summary


def test_of_several_clear_while_one_evaluates_works_or_moves() -> None:
    evaluates = trains(PhaseBegan(at=T0 + 111.5, phase="validate"))
    for other in (evaluates, stuck(*three(SAVES), cpu=0.9), trains()):
        assert isinstance(collective_stuck.examine_workers(run_group(member(0, waits()), member(1, other))), Clear)
    assert isinstance(collective_stuck.examine_workers(run_group(member(0), member(1))), Clear)


def test_of_several_unknown_where_nobody_saw_the_stacks() -> None:
    blind = stuck(SampleFailed(at=T0 + 109, signal="stacks", missing="leave to look (ptrace)", fix="…"))
    assert isinstance(collective_stuck.examine_workers(run_group(member(0, blind), member(1))), Unknown)
