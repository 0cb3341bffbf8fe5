"""worker_missing: the program waits in the call that joins a cluster, or ended with an error about who did not come."""

from __future__ import annotations

import json

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, main, py, started, stuck, three
from unstall.diagnosis.causes import worker_missing
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ClusterSeen, ErrorRaised, Frame, SampleFailed

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
    refused = SampleFailed(at=T0 + 109, signal="stacks", missing="the permission", cure="sudo")
    assert worker_missing.examine(stuck(refused)) == Unknown("the permission", "sudo")
