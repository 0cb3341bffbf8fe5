"""Vertex AI and Kubeflow Trainer: their variables, as they are documented, become memberships."""

from __future__ import annotations

import json

import pytest

from unstall.base.errors import InvalidInputError
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv

CLUSTER = {"workerpool0": ["host-a:2222"], "workerpool1": ["host-b:2222", "host-c:2222"]}


def vertex(pool: str, index: int, cluster: object = CLUSTER, **more: str) -> dict[str, str]:
    said = {"cluster": cluster, "environment": "cloud", "task": {"type": pool, "index": index}, "job": "4711"}
    return {"CLUSTER_SPEC": json.dumps(said), "CLOUD_ML_JOB_ID": "4711", **more}


def kubeflow(count: str, number: str, address: str = "job-node-0-0.job:6666", **more: str) -> dict[str, str]:
    return {"JAX_NUM_PROCESSES": count, "JAX_PROCESS_ID": number, "JAX_COORDINATOR_ADDRESS": address, **more}


# --- Vertex AI ---


@pytest.mark.parametrize(("pool", "index", "worker"), [("workerpool0", 0, 0), ("workerpool1", 0, 1), ("workerpool1", 1, 2)])
def test_a_replica_is_a_worker_and_the_first_pool_leads(pool: str, index: int, worker: int) -> None:
    environ = vertex(pool, index)
    assert engines.recognise_engine(environ) == "vertex"
    assert engines.build_process_envs(environ, 3) == [ProcessEnv(worker, 3, "host-a:2222")]
    assert engines.count_declared_workers(environ) == 3


def test_a_machine_of_several_cards_has_several_workers() -> None:
    environ = vertex("workerpool1", 0, UNSTALL_WORKERS_EACH="2")
    assert engines.build_process_envs(environ, 6) == [ProcessEnv(2, 6, "host-a:2222"), ProcessEnv(3, 6, "host-a:2222")]


def test_parameter_servers_and_evaluators_do_not_train() -> None:
    cluster = {**CLUSTER, "workerpool2": ["host-d:2222"]}
    assert engines.count_declared_workers(vertex("workerpool0", 0, cluster)) == 3
    with pytest.raises(
        InvalidInputError, match=r"CLUSTER_SPEC: expected a task that trains, one of workerpool0 0, .* Received: workerpool2 0"
    ):
        engines.build_process_envs(vertex("workerpool2", 0, cluster), 3)


def test_a_job_of_one_machine_is_like_any_machine() -> None:
    environ = vertex("workerpool0", 0, {"workerpool0": ["host-a:2222"]})
    assert engines.recognise_engine(environ) == "local" and len(engines.build_process_envs(environ, 4)) == 4


def test_tf_config_says_the_same_where_vertex_has_set_it() -> None:
    said = {"cluster": {"chief": ["host-a:2222"], "worker": ["host-b:2222"]}, "task": {"type": "worker", "index": 0}}
    environ = {"TF_CONFIG": json.dumps(said), "CLOUD_ML_JOB_ID": "4711"}
    assert engines.build_process_envs(environ, 2) == [ProcessEnv(1, 2, "host-a:2222")]
    assert engines.recognise_engine({"TF_CONFIG": json.dumps(said)}) == "local"  # of somebody else's cluster


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"cluster": {}}', '{"cluster": {"workerpool0": ["host-a"]}, "task": {"type": "x", "index": 0}}']
)
def test_a_cluster_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(InvalidInputError, match="CLUSTER_SPEC: expected a cluster of host:port and a task"):
        engines.build_process_envs({"CLUSTER_SPEC": text}, 2)


# --- Kubeflow Trainer ---


def test_a_pod_is_a_worker_at_the_address_of_the_first() -> None:
    environ = kubeflow("4", "3")
    assert engines.recognise_engine(environ) == "kubeflow"
    assert engines.build_process_envs(environ, 4) == [ProcessEnv(3, 4, "job-node-0-0.job:6666")]
    each = engines.build_process_envs(kubeflow("2", "1", UNSTALL_WORKERS_EACH="2"), 4)
    assert [member.rank for member in each] == [2, 3]


def test_a_job_of_one_pod_is_like_any_machine() -> None:
    assert engines.recognise_engine(kubeflow("1", "0")) == "local"


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        (kubeflow("2", "2"), "JAX_PROCESS_ID: expected a number below JAX_NUM_PROCESSES"),
        (kubeflow("two", "0"), "JAX_NUM_PROCESSES: expected a whole number. Received: 'two'"),
        (kubeflow("2", "0", ""), "JAX_COORDINATOR_ADDRESS: expected host:port of the first pod"),
        (
            kubeflow("2", "0", UNSTALL_WORKERS_EACH="0"),
            "UNSTALL_WORKERS_EACH: expected a whole number of 1 or more. Received: '0'",
        ),
    ],
)
def test_variables_that_contradict_are_named(environ: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        engines.build_process_envs(environ, 2)
