"""worker_missing: the program waits in the call that joins a cluster, or ended with an error about who did not come."""

from __future__ import annotations

import json

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, main, py, started, stuck, three
from tests.diagnosis.workers.builders import joins, loads, member, run_group, trains, waits
from unstall.diagnosis.causes import worker_missing
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ClusterSeen, ErrorRaised, Frame, ProcessEnded, SampleFailed, SignalSent

SETUP = (py("train.py", "setup", 36), py("train.py", "<module>", 39))
JOINS = {
    "tensorflow": (
        lib("tensorflow/python/eager/context.py", "Context.ensure_initialized"),
        lib("tensorflow/python/distribute/collective_all_reduce_strategy.py", "_initialize_multi_worker"),
    ),
    "jax": (lib("jax/_src/distributed.py", "State.initialize"), lib("jax/_src/distributed.py", "initialize")),
    "torch": (
        lib("torch/distributed/rendezvous.py", "_create_c10d_store"),
        lib("torch/distributed/distributed_c10d.py", "init_process_group"),
    ),
}


@pytest.mark.parametrize("frames", JOINS.values(), ids=JOINS.keys())
def test_found_in_the_call_that_joins(frames: tuple[Frame, ...]) -> None:
    verdict = worker_missing.examine(stuck(*three(main(*frames, *SETUP)), phase="", now=125))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "train.py:36"


def test_certain_when_it_has_waited_long_and_names_who_is_not_connected() -> None:
    config = json.dumps({"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}})
    connected = [{"to": "10.0.0.1:2222", "pid": None}]
    cluster = ClusterSeen(at=T0 + 111, pid=1, variables={"TF_CONFIG": config}, connections=connected)
    verdict = worker_missing.examine(stuck(*three(main(*JOINS["tensorflow"], *SETUP)), cluster, phase="", now=170))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "meant for 2 processes" in verdict.summary
    assert any("10.0.0.2:2222" in evidence.claim and "10.0.0.1" not in evidence.claim for evidence in verdict.evidence)


def test_clear_while_a_cluster_may_still_be_starting_but_told_to_who_asks() -> None:
    samples = three(main(*JOINS["torch"], *SETUP))
    assert isinstance(worker_missing.examine(stuck(*samples, phase="", now=112)), Clear)
    assert isinstance(worker_missing.examine(stuck(*samples, phase="", now=112, mode="attach")), Found)


def test_clear_where_tensorflow_starts_without_a_cluster() -> None:
    alone = main(lib("tensorflow/python/eager/context.py", "Context.ensure_initialized"), *SETUP)
    assert isinstance(worker_missing.examine(stuck(*three(alone), phase="", now=170)), Clear)


def test_clear_in_a_collective_operation() -> None:
    reduces = main(lib("torch/distributed/distributed_c10d.py", "all_reduce"), *SETUP)
    assert isinstance(worker_missing.examine(stuck(*three(reduces), now=170)), Clear)


@pytest.mark.parametrize(
    "message",
    [
        "Timed out after 301 seconds waiting for clients. 1/2 clients joined.",
        "DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect::0. This usually happens because a task triggered...",
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:35214",
        "[third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:23258: Connection reset by peer. This is typically",
        "Collective ops is aborted by: Socket closed",
    ],
)
def test_found_from_the_error_that_ended_the_program(message: str) -> None:
    user: Frame = {"function": "setup", "file": f"{FOLDER}/train.py", "line": 36, "module": ""}
    error = ErrorRaised(at=T0 + 300, kind="RuntimeError", message=message, frames=[user], fatal=True)
    verdict = worker_missing.examine(journal(started(), error))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:36"


def test_clear_for_other_errors_and_unknown_without_stacks() -> None:
    error = ErrorRaised(at=T0 + 300, kind="TimeoutError", message="Timed out reading a file", fatal=True)
    assert isinstance(worker_missing.examine(journal(started(), error)), Clear)
    refused = SampleFailed(at=T0 + 109, signal="stacks", missing="the permission", fix="sudo")
    assert worker_missing.examine(stuck(refused)) == Unknown("the permission", "sudo")


def test_one_that_knows_its_number_says_it_and_how_to_find_out_more() -> None:
    verdict = worker_missing.examine(member(0, joins(), 3).journal)
    assert isinstance(verdict, Found)
    assert "This is worker 0 of 3." in verdict.summary
    assert "unstall diagnose FOLDER/" in verdict.actions[-1]


# --- of several workers, each with its own journal ---


def test_of_several_the_number_without_a_run_is_named_and_where_the_others_wait() -> None:
    verdict = worker_missing.examine_workers(run_group(member(0, joins(), 3), member(2, joins(), 3)))
    assert isinstance(verdict, Found)
    assert (verdict.certainty, verdict.details["workers"]) == (Certainty.CERTAIN, [1])
    assert "Of worker 1 there is no run" in verdict.summary
    assert "worker 0 joins torch.distributed at train.py:20" in verdict.summary


def test_of_several_one_that_stands_elsewhere_is_named_with_its_line() -> None:
    verdict = worker_missing.examine_workers(run_group(member(0, joins()), member(1, loads(now=170))))
    assert isinstance(verdict, Found)
    assert verdict.where == "loader.py:12"
    assert "Worker 1 (host-1) has not come: it waits for the network at loader.py:12" in verdict.summary


def test_of_several_one_that_was_killed_while_the_others_wait_for_it() -> None:
    killed = trains(ProcessEnded(at=T0 + 101, signal=9), now=101)
    verdict = worker_missing.examine_workers(run_group(member(0, waits()), member(1, killed)))
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith(
        "Worker 1 (host-1) was killed by signal 9 after step 381. 1 of 2 workers waits: worker 0 waits"
    )


def test_of_several_that_somebody_ended_together_the_first_to_go_is_no_cause() -> None:
    """The stall of worker 0 had just been called off when its user pressed Ctrl-C on both."""
    ended = [SignalSent(at=T0 + 171, signal=15), ProcessEnded(at=T0 + 172, signal=15)]
    first, second = trains(*ended), joins()
    second.extend(ended)
    verdict = worker_missing.examine_workers(run_group(member(0, first, 3), member(1, second, 3)))
    assert isinstance(verdict, Found)
    assert verdict.details["workers"] == [2]
    alone = worker_missing.examine_workers(run_group(member(0, trains(*ended)), member(1, waits(now=175))))
    assert isinstance(alone, Found) and alone.details["workers"] == [0]


def test_of_several_the_first_that_failed_and_not_those_that_failed_of_it() -> None:
    lost = ErrorRaised(
        at=T0 + 106, kind="RuntimeError", message="[gloo/transport/tcp/pair.cc] Connection closed by peer", fatal=True
    )
    own = ErrorRaised(at=T0 + 105, kind="ValueError", message="bad box", frames=[py("train.py", "step", 7)], fatal=True)
    ends = [ProcessEnded(at=T0 + 107, exit_code=1)]
    verdict = worker_missing.examine_workers(run_group(member(0, trains(lost, *ends)), member(1, trains(own, *ends))))
    assert isinstance(verdict, Found)
    assert (verdict.where, verdict.details["workers"]) == ("train.py:7", [1])


def test_of_several_one_that_has_fallen_silent() -> None:
    verdict = worker_missing.examine_workers(run_group(member(0, waits(now=150)), member(1, trains(now=101))))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "Worker 1 (host-1) has told nothing for 49 s since step 381" in verdict.summary


def test_of_several_clear_while_one_is_on_its_way_or_they_have_hardly_waited() -> None:
    starts = journal(started(), now=170)
    assert isinstance(worker_missing.examine_workers(run_group(member(0, joins()), member(1, starts))), Clear)
    assert isinstance(worker_missing.examine_workers(run_group(member(0, joins(13), 3), member(1, joins(13), 3))), Clear)


def test_of_several_clear_when_one_that_nobody_waits_for_is_not_among_the_runs() -> None:
    assert isinstance(worker_missing.examine_workers(run_group(member(0, of=3), member(1, of=3))), Clear)
    ended = [member(number, trains(ProcessEnded(at=T0 + 112, signal=15))) for number in (0, 1)]
    assert isinstance(worker_missing.examine_workers(run_group(*ended)), Clear)


def test_of_several_unknown_where_nobody_saw_the_stacks() -> None:
    blind = stuck(SampleFailed(at=T0 + 109, signal="stacks", missing="leave to look (ptrace)", fix="…"))
    assert isinstance(worker_missing.examine_workers(run_group(member(0, blind), member(1))), Unknown)
