"""Which worker of how many a process is, by what it was started with."""

from __future__ import annotations

import json

import pytest

from unstall.journal.rank import RankInfo, read_rank

CLUSTER = {"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"]}


def tf_config(job: str, index: int, cluster: dict[str, list[str]] | None = None) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster or CLUSTER, "task": {"type": job, "index": index}})}


def test_of_unstalls_own_trainer() -> None:
    event = read_rank(
        {"UNSTALL_WORKER": "1", "UNSTALL_WORKERS": "4", "UNSTALL_COORDINATOR": "h:5", "RANK": "0", "WORLD_SIZE": "9"}
    )
    assert event == RankInfo("UNSTALL_WORKER", 1, 4, "h:5")


def test_of_jax_torchrun_and_mpi() -> None:
    jax = {"JAX_PROCESS_ID": "0", "JAX_NUM_PROCESSES": "2", "JAX_COORDINATOR_ADDRESS": "h:1"}
    assert read_rank(jax) == RankInfo("JAX_PROCESS_ID", 0, 2, "h:1")
    torch = {"RANK": "3", "WORLD_SIZE": "8", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
    assert read_rank(torch) == RankInfo("RANK", 3, 8, "10.0.0.1:29500")
    assert read_rank({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}) == RankInfo("OMPI_COMM_WORLD_RANK", 1, 2)


def test_of_tf_config_the_chief_is_the_first_worker() -> None:
    workers = ("a:1", "b:2", "c:3")
    assert read_rank(tf_config("chief", 0)) == RankInfo("TF_CONFIG", 0, 3, "", workers, "chief")
    assert read_rank(tf_config("worker", 1)) == RankInfo("TF_CONFIG", 2, 3, "", workers, "worker")
    assert read_rank(tf_config("ps", 0)) == RankInfo("TF_CONFIG", None, None, "", (*workers, "d:4"), "ps")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"RANK": "0"},
        {"RANK": "0", "WORLD_SIZE": "1"},
        {"RANK": "x", "WORLD_SIZE": "2"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},  # a script of sbatch, which trains alone
        {"TF_CONFIG": "no json"},
        {"TF_CONFIG": "[1, 2]"},
        {"TF_CONFIG": '{"cluster": {"worker": "a:1"}, "task": 5}'},
        tf_config("worker", 0, {"worker": ["a:1"]}),
    ],
)
def test_alone_or_told_wrongly(variables: dict[str, str]) -> None:
    assert read_rank(variables) is None
