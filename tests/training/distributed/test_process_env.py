"""Who a worker is: what its environment says, and nothing that is half said."""

from __future__ import annotations

import pytest

from unstall.base.errors import InvalidInputError
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv

GIVEN = {"UNSTALL_WORKER": "1", "UNSTALL_WORKERS": "4", "UNSTALL_COORDINATOR": "10.0.0.7:8476"}


def test_a_worker_of_whom_nobody_has_said_anything_is_alone_and_the_first() -> None:
    alone = engines.read_own_process_env({})
    assert alone.is_alone and alone.is_first and not engines.is_process_env_given({})
    assert alone.as_environment() == {}


def test_what_is_given_to_a_worker_is_what_it_reads() -> None:
    second = engines.read_own_process_env(GIVEN)
    assert second == ProcessEnv(1, 4, "10.0.0.7:8476") and not second.is_first
    assert second.words == "worker 1 of 4"
    assert second.as_environment() == GIVEN


def test_one_of_one_is_alone_wherever_it_was_told_to_meet() -> None:
    assert engines.read_own_process_env({**GIVEN, "UNSTALL_WORKER": "0", "UNSTALL_WORKERS": "1"}) == ProcessEnv()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"UNSTALL_WORKER": ""}, "UNSTALL_WORKER: expected a whole number"),
        ({"UNSTALL_WORKER": "4"}, "UNSTALL_WORKER: expected a number below UNSTALL_WORKERS"),
        ({"UNSTALL_WORKERS": "-2"}, "UNSTALL_WORKERS: expected a whole number"),
        ({"UNSTALL_COORDINATOR": ""}, "UNSTALL_COORDINATOR: expected host:port"),
        ({"UNSTALL_COORDINATOR": "10.0.0.7"}, "UNSTALL_COORDINATOR: expected host:port"),
        ({"UNSTALL_COORDINATOR": "10.0.0.7:99999"}, "UNSTALL_COORDINATOR: expected host:port"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        engines.read_own_process_env({**GIVEN, **change})
