"""Which workers this machine is to start, and at whose word."""

from __future__ import annotations

import inspect

import pytest

from unstall.base.errors import InvalidInputError
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv, local

SECOND = {"UNSTALL_WORKER": "1", "UNSTALL_WORKERS": "2", "UNSTALL_COORDINATOR": "10.0.0.7:8476"}


@pytest.mark.parametrize("name", engines.ENGINES.names())
def test_an_engine_has_all_that_is_asked_of_it(name: str) -> None:
    module = engines.ENGINES.module(name)
    assert module.__doc__ and module.HINT
    assert list(inspect.signature(module.build_process_envs).parameters) == ["environ", "workers"]
    if module.VARIABLES:
        assert list(inspect.signature(module.recognise).parameters) == ["environ"]
        assert module.recognise({}) == "", "an engine must not take a machine for its own by nothing"


def test_where_no_engine_runs_us_this_machine_starts_all_workers() -> None:
    assert engines.recognise_engine({}) == "local"
    first, second = engines.build_process_envs({}, 2)
    assert (first.rank, second.rank, first.world_size) == (0, 1, 2)
    assert first.coordinator == second.coordinator and first.coordinator.startswith("127.0.0.1:")
    assert engines.build_process_envs({}, 1) == [ProcessEnv()]


def test_each_start_has_a_port_of_its_own() -> None:
    ports = {engines.build_process_envs({}, 2)[0].coordinator for _ in range(20)}
    assert len(ports) > 1


def test_where_somebody_has_said_who_we_are_that_worker_alone_is_started() -> None:
    assert engines.build_process_envs(SECOND, 2) == [ProcessEnv(1, 2, "10.0.0.7:8476")]


def test_the_number_of_workers_is_that_of_whoever_started_us() -> None:
    assert engines.agree_on_workers({}, 3, is_given=False) == 3
    assert engines.agree_on_workers(SECOND, 1, is_given=False) == 2
    with pytest.raises(InvalidInputError, match="num_workers: expected 2"):
        engines.agree_on_workers(SECOND, 4, is_given=True)


# --- cards of this machine ---


def test_each_worker_has_a_card_of_its_own_and_is_told_which() -> None:
    assert local.assign_gpus(2, ["0", "1", "2"]) == ["0", "1"]
    assert ProcessEnv(1, 2, "127.0.0.1:8476", card="1").as_environment()["CUDA_VISIBLE_DEVICES"] == "1"


def test_without_cards_nothing_is_said_of_them() -> None:
    assert local.assign_gpus(2, []) == ["", ""]
    assert "CUDA_VISIBLE_DEVICES" not in ProcessEnv(1, 2, "127.0.0.1:8476").as_environment()
    assert local.list_visible_gpus({"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "0,1"}) == []


def test_more_workers_than_cards_are_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInputError, match=r"num_workers: expected at most 1.*Received: 2.*JAX_PLATFORMS=cpu"):
        local.assign_gpus(2, ["0"])
