"""Each sentence of a verdict against the events that show it: said with them, and not said without."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tests.diagnosis.builders import (
    FOLDER,
    T0,
    host,
    journal,
    kernel,
    lib,
    main,
    py,
    sleeper,
    stacks,
    started,
    steps,
    stuck,
    three,
)
from tests.diagnosis.learning_curve_builders import broke, guessing, leap_of, model, not_finite, run
from tests.diagnosis.workers.builders import member, run_group, waits
from unstall.diagnosis.causes import (
    address_wrong,
    checkpoint_refused,
    collective_stuck,
    compiling_long,
    dataset_exhausted,
    disk_full,
    fork_deadlock,
    function_retracing,
    generator_blocked,
    gradients_exploding,
    host_memory_exhausted,
    host_memory_leaking,
    path_missing,
    record_corrupt,
    validation_endless,
    worker_missing,
)
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.events import (
    ChildSeen,
    ClusterSeen,
    ErrorRaised,
    Event,
    FileMet,
    FitBegan,
    FrameworkLoaded,
    FunctionTraced,
    InputDescribed,
    KernelSpoke,
    KillsCounted,
    LibrariesSeen,
    MembershipSeen,
    PathLooked,
    PhaseBegan,
    PhaseEnded,
    PipelineBuilt,
    ProcessEnded,
    ProgramStarted,
    ThreadStack,
    WarningShown,
)
from unstall.journal.reader import Journal

CRASHED = ProcessEnded(at=T0 + 60, pid=1, exit_code=1)
REDUCES = (
    lib("torch/distributed/distributed_c10d.py", "all_reduce"),
    py("train.py", "average", 36),
    py("train.py", "<module>", 72),
)
STDLIB = "/usr/lib/python3.11"


def found(verdict: Verdict) -> Found:
    assert isinstance(verdict, Found)
    return verdict


def texts(verdict: Verdict) -> str:
    return "\n".join([found(verdict).summary, *(evidence.claim for evidence in found(verdict).evidence)])


def failed(kind: str, message: str, *events: Event) -> Journal:
    error = ErrorRaised(at=T0 + 59, kind=kind, message=message, frames=[py("train.py", "main", 5)], fatal=True)
    return journal(started(), ProgramStarted(at=T0, pid=1), error, *events, CRASHED)


# --- several processes ---


def test_a_worker_process_of_a_data_loader_is_not_called_absent_from_a_collective() -> None:
    rests = (py(f"{STDLIB}/multiprocessing/queues.py", "get"), lib("torch/utils/data/_utils/worker.py", "_worker_loop"))
    saves = (py("train.py", "save", 80), py("train.py", "<module>", 77))
    verdicts = []
    for frames in ((*rests, py("train.py", "<module>", 60)), saves):
        other: ThreadStack = {**main(*frames), "id": 7}
        asleep = kernel(sleeper(7), at=109, pid=7, main=False)
        verdicts.append(found(collective_stuck.examine(stuck(*three(main(*REDUCES)), *three(other, main=False, pid=7), asleep))))
    loads, absent = verdicts
    assert loads.certainty is Certainty.LIKELY and "Process 7" not in texts(loads)
    assert absent.certainty is Certainty.CERTAIN and "Process 7 does not take part" in absent.summary


def test_different_lines_alone_are_not_called_different_operations() -> None:
    other = main(lib("torch/distributed/distributed_c10d.py", "all_reduce"), py("train.py", "<module>", 80))
    verdict = found(collective_stuck.examine_workers(run_group(member(0, waits()), member(1, stuck(*three(other))))))
    assert verdict.certainty is Certainty.LIKELY
    assert "They wait at different lines, and perhaps in different operations" in verdict.summary


def test_an_operation_that_timed_out_is_told_in_the_innermost_words_of_the_error() -> None:
    message = (
        "Caught RuntimeError in replica 0.\nOriginal Traceback (most recent call last):\n"
        f'  File "{FOLDER}/train.py", line 36, in average\n    dist.all_reduce(loss)\n'
        "RuntimeError: Timed out waiting 1800000ms for recv operation to complete"
    )
    verdict = found(collective_stuck.examine(failed("RuntimeError", message)))
    text = "RuntimeError: Timed out waiting 1800000ms for recv operation to complete"
    assert verdict.summary == f"A collective operation waited for other processes until its time was over: {text}"
    assert verdict.evidence[0].claim == f"the error that ended it: {text}"


def joining(addresses: list[str], connected: list[str]) -> Verdict:
    config = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": 0}})
    links: list[dict[str, Any]] = [{"to": address, "pid": None} for address in connected]
    cluster = ClusterSeen(at=T0 + 111, pid=1, variables={"TF_CONFIG": config}, connections=links)
    joins = main(
        lib("tensorflow/python/eager/context.py", "Context.ensure_initialized"),
        lib("tensorflow/python/distribute/collective_all_reduce_strategy.py", "_initialize_multi_worker"),
        py("train.py", "<module>", 39),
    )
    return worker_missing.examine(stuck(*three(joins), cluster, phase="", now=170))


def test_only_others_that_are_given_by_numbers_are_said_to_be_unconnected() -> None:
    assert "there is no connection to 10.0.0.2:1, which TF_CONFIG lists" in texts(joining(["10.0.0.1:1", "10.0.0.2:1"], []))
    assert "no connection" not in texts(joining(["10.0.0.1:1", "10.0.0.2:1"], ["10.0.0.2:1"]))  # it is worker 0 itself
    assert "no connection" not in texts(joining(["host-a:1", "host-b:1"], ["10.0.0.2:1"]))


def test_one_address_of_the_loopback_is_likely_and_counts_are_those_of_the_list() -> None:
    event = MembershipSeen(at=T0, pid=1, worker=0, of=3, addresses=["10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"])
    assert "3 workers were given one address" in found(address_wrong.examine(journal(started(), event))).summary
    mixed = MembershipSeen(at=T0, pid=1, worker=0, of=2, addresses=["localhost:1", "10.0.0.2:1"])
    joins = main(lib("torch/distributed/distributed_c10d.py", "init_process_group"), py("train.py", "<module>", 20))
    verdict = found(address_wrong.examine(stuck(*three(joins), mixed, phase="", now=130)))
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.summary.endswith("leads each machine to itself: the list of workers has localhost:1 beside 10.0.0.2:1.")


def test_a_parent_stands_and_a_copy_of_memory_is_told_only_where_the_kernel_showed_it() -> None:
    fork = (py(f"{STDLIB}/multiprocessing/popen_fork.py", "Popen._launch"), py("train.py", "score", 50))
    child: ThreadStack = {
        **main(lib("tensorflow/python/eager/execute.py", "quick_execute"), py("train.py", "fold", 45), *fork),
        "id": 7,
    }
    parent = main(py(f"{STDLIB}/threading.py", "Condition.wait"), py("train.py", "other_work", 99))
    asleep = kernel(sleeper(7, call="futex"), at=109, pid=7, main=False)
    for forked, said in ((True, "a copy of the memory of process 1"), (None, "holds multiprocessing's fork")):
        seen = ChildSeen(at=T0 + 111, pid=7, parent_pid=1, forked=forked, command=["python"])
        result = texts(fork_deadlock.examine(stuck(*three(parent), *three(child, main=False, pid=7), seen, asleep)))
        assert said in result and "Its parent process stands at train.py:99" in result
        assert "waits for it" not in result


# --- steps that nobody saw ---


def waiting_loop(**stall: Any) -> str:
    frames = (py(f"{STDLIB}/socket.py", "readinto"), py("train.py", "rows", 12))
    loader = main(*frames, lib("torch/utils/data/dataloader.py", "__next__"), py("train.py", "<module>", 30))
    return texts(generator_blocked.examine(stuck(*three(loader), LibrariesSeen(at=T0, pid=1, names=["torch"]), **stall)))


def test_a_batch_is_spoken_of_only_where_a_training_was_seen() -> None:
    assert "Your input code has not given a batch since step 381" in waiting_loop()
    assert "Your input code has not returned. It waits for the network" in waiting_loop(phase="", step=-1, usual_s=None)


@pytest.mark.parametrize(("phase", "what"), [("train", "steps"), ("save", "saves"), ("validate", "steps of validation")])
def test_how_long_it_took_before_is_said_of_what_goes_on(phase: str, what: str) -> None:
    assert f"\n{what} before took 0.2 s; this one" in waiting_loop(phase=phase)


def compiling(*events: Event, now: float = 51) -> Found:
    thread = main(lib("jax/_src/compiler.py", "backend_compile", 353), py("train.py", "<module>", 41))
    looks: list[Event] = [stacks(thread, at=at) for at in range(10, 51, 5)]
    hosts = [host(at, 1.0) for at in range(10, 51)]
    loaded = FrameworkLoaded(at=T0 + 1, name="jax", version="0.10")
    return found(compiling_long.examine(journal(started(), loaded, *looks, *hosts, *events, now=now)))


def test_a_compilation_of_a_program_that_has_ended_is_not_said_to_go_on() -> None:
    assert "It is slow, not stuck" in compiling().summary and compiling().actions[-1] == "or wait: it goes on by itself"
    over = compiling(ProcessEnded(at=T0 + 51, pid=1, exit_code=1))
    assert over.summary == "The program was being compiled for 41 s, called at train.py:41."
    assert not any("wait" in do for do in over.actions)


def test_that_no_step_ended_is_said_of_a_fit_that_had_begun() -> None:
    fit = FitBegan(at=T0 + 5, api="keras", backend="jax")
    assert "and no step ended" in texts(compiling(fit))
    assert "step" not in texts(compiling())
    assert "step" not in texts(compiling(dataclasses.replace(fit, at=T0 + 51)))


def test_the_input_of_a_validation_that_runs_out_is_no_fault_of_the_training() -> None:
    fit = FitBegan(at=T0 + 5, api="keras", backend="tensorflow", epochs=5, steps_per_epoch=100)
    validates = (PhaseBegan(at=T0 + 19.5, phase="validate"), PhaseEnded(at=T0 + 21, phase="validate", seconds=1.5))
    warned = WarningShown(at=T0 + 20, source="warnings", message="Your input ran out of data; interrupting training.")
    events = (started(), InputDescribed(at=T0 + 4, kind="tf.data"), fit, steps(0, 99, at=19), warned)
    assert isinstance(dataset_exhausted.examine(journal(*events, *validates, now=25)), Clear)
    assert isinstance(dataset_exhausted.examine(journal(*events, now=25)), Found)


def test_steps_of_a_validation_are_counted_only_where_they_are_seen() -> None:
    source = InputDescribed(at=T0 + 20, role="validate", kind="tf.data", batches=-1)
    fit = FitBegan(at=T0 + 1, api="keras", backend="tensorflow", epochs=5, steps_per_epoch=100)
    events = (started(), fit, steps(0, 99, at=20), source, PhaseBegan(at=T0 + 20, phase="validate"))
    made = steps(0, 49, at=29, phase="validate")
    assert "It has made 50 steps in 10 s" in texts(validation_endless.examine(journal(*events, made, now=30)))
    unseen = texts(validation_endless.examine(journal(*events, now=30)))
    assert "It has taken 10 s so far" in unseen and "0 steps" not in unseen


# --- memory, files, paths ---


def killed(*events: Event) -> Found:
    stood = stacks(main(py("loader.py", "decode", 41)), at=18)
    counted = KillsCounted(at=T0 + 21, group="/job", in_group=1, limit_bytes=1 << 30, peak_bytes=1 << 30, final=True)
    ended = ProcessEnded(at=T0 + 21, pid=1, signal=9)
    return found(host_memory_exhausted.examine(journal(started(), host(17), stood, ended, counted, *events, now=22)))


def test_where_a_killed_program_stood_is_not_called_where_memory_grew() -> None:
    verdict = killed()
    assert "its main thread stood at loader.py:41" in verdict.summary and "grew at" not in verdict.summary
    assert "its control group held 1 GiB" in verdict.summary and "it held" not in verdict.summary
    line = "Memory cgroup out of memory: Killed process 1 (python) total-vm:2852104kB, anon-rss:524288kB, file-rss:0kB"
    assert ": it held 512 MiB" in killed(KernelSpoke(at=T0 + 21, line=line, pid=1)).summary


def test_a_cache_of_an_endless_data_set_does_not_claim_a_repeat() -> None:
    cache = PipelineBuilt(at=T0 + 1, stage="cache", where=f"{FOLDER}/train.py:12", arguments={"elements": -1})
    hosts = [host(at, 1.0, rss_bytes=at * (60 << 20)) for at in range(10, 60)]
    groups = [steps(at * 10, at * 10 + 9, at=at, each_s=0.1) for at in range(10, 60)]
    verdict = found(host_memory_leaking.examine(journal(started(), cache, *hosts, *groups, now=60)))
    assert "keeps the elements of a data set that has no end" in verdict.summary and "repeat" not in verdict.summary


def test_a_checkpoint_is_named_only_where_one_file_was_read() -> None:
    message = "Weights only load failed. Unsupported global: GLOBAL argparse.Namespace was not an allowed global by default."
    one, other = (FileMet(at=T0 + 59, path=path, how="read") for path in ("/runs/a.pt", "/runs/b.pt"))
    assert "refused /runs/a.pt" in found(checkpoint_refused.examine(failed("UnpicklingError", message, one))).summary
    assert "refused a checkpoint" in found(checkpoint_refused.examine(failed("UnpicklingError", message, one, other))).summary


def test_a_quota_is_not_called_a_full_disk() -> None:
    quota = found(disk_full.examine(failed("OSError", "[Errno 122] Disk quota exceeded: 'x'"))).summary
    assert quota.startswith("The quota of the disk is used up")
    assert found(disk_full.examine(failed("OSError", "[Errno 28] No space left on device"))).summary.startswith(
        "The disk is full"
    )


def test_data_of_another_kind_are_not_called_damaged() -> None:
    other = found(record_corrupt.examine(failed("InvalidArgumentError", "Unknown image file format."))).summary
    assert other.startswith("The data cannot be read: a file is no image")
    cut = found(record_corrupt.examine(failed("OSError", "image file is truncated (12 bytes not processed)"))).summary
    assert cut.startswith("The data is damaged")


def test_which_of_several_unset_variables_a_path_lacks_is_not_claimed() -> None:
    message = "[Errno 2] No such file or directory: 'None/train'"
    looked = PathLooked(at=T0 + 59, path="None/train", exists_up_to=FOLDER, unset_variables=["DATA", "HOME_OF_DATA"])
    summary = found(path_missing.examine(failed("FileNotFoundError", message, looked))).summary
    assert summary.startswith("There is no None/train. It holds the word None")
    assert summary.endswith("DATA, HOME_OF_DATA are not set, and the program asks for them.")
    assert "set" not in found(path_missing.examine(failed("FileNotFoundError", message))).summary.partition("None, as")[0]


# --- numbers ---


@pytest.mark.parametrize(("rate", "said"), [(0.01, "at a usual learning rate of 0.01"), (5.0, "at a learning rate of 5")])
def test_a_learning_rate_is_called_usual_only_if_it_is(rate: float, said: str) -> None:
    verdict = gradients_exploding.examine(run(model(), guessing(), leap_of(90_000, rate), broke(1), not_finite()))
    assert said in found(verdict).summary


def test_the_reason_of_the_last_trace_is_not_said_of_each() -> None:
    traces = [
        FunctionTraced(at=T0 + at, function="step", where=f"{FOLDER}/train.py:30", count=at, calls=at, seconds=at * 0.5,
                       objects=1, why="value of n", called_at=f"{FOLDER}/train.py:55")
        for at in range(1, 61)
    ]  # fmt: skip
    fit = ProgramStarted(at=T0, pid=1)
    summary = found(function_retracing.examine(journal(started(), fit, *traces, now=61))).summary
    assert "60 times in 60 calls. The last time, the Python value of `n` differed at train.py:55." in summary
