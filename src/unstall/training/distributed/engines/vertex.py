"""Workers of a custom job of Vertex AI: one machine for each replica, told of the others by CLUSTER_SPEC.

    CLUSTER_SPEC={"cluster": {"workerpool0": ["host-a:2222"], "workerpool1": ["host-b:2222", "host-c:2222"]},
                  "task": {"type": "workerpool1", "index": 0}}

The one replica of workerpool0 leads: its first worker is worker 0, at the address that the cluster says. TF_CONFIG says the same
in other words (chief and worker), and is read where there is no CLUSTER_SPEC. UNSTALL_WORKERS_EACH, which `unstall cloud submit`
sets, is how many workers a machine has: one for each of its cards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.training.distributed.engines import ProcessEnv

HINT = "CLUSTER_SPEC, or TF_CONFIG with CLOUD_ML_JOB_ID, of Vertex AI"
SPEC, CONFIG, JOB = "CLUSTER_SPEC", "TF_CONFIG", "CLOUD_ML_JOB_ID"
VARIABLES = (SPEC, CONFIG)
WORKERS_EACH = "UNSTALL_WORKERS_EACH"
# In this order their replicas are counted. Parameter servers and evaluators (workerpool2 and 3) do not train.
POOLS = {SPEC: ("workerpool0", "workerpool1"), CONFIG: ("chief", "master", "worker")}


def recognise(environ: Mapping[str, str]) -> str:
    """A job of one machine is like any machine: whatever workers it has, it starts them itself."""
    has_config = environ.get(CONFIG, "").strip() and environ.get(JOB)
    variable = SPEC if environ.get(SPEC, "").strip() else CONFIG if has_config else ""
    if not variable:
        return ""
    try:
        return variable if len(_hosts(variable, _parsed(variable, environ[variable]))) > 1 else ""
    except InvalidInputError:
        return variable  # what is wrong with it is said when it is needed


def build_process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    variable = SPEC if environ.get(SPEC, "").strip() else CONFIG
    said = _parsed(variable, environ[variable])
    hosts = _hosts(variable, said)
    place = (said["task"]["type"], int(said["task"]["index"]))
    numbers = [number for number, (pool, index, _) in enumerate(hosts) if (pool, index) == place]
    if not numbers:
        known = ", ".join(f"{pool} {index}" for pool, index, _ in hosts)
        raise InvalidInputError(f"{variable}: expected a task that trains, one of {known}. Received: {place[0]} {place[1]}")
    each = count_each(environ)
    first = numbers[0] * each
    return [ProcessEnv(number, len(hosts) * each, hosts[0][2]) for number in range(first, first + each)]


def _hosts(variable: str, said: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Pool, index in it, and address of each machine that trains, as their workers are counted."""
    return [(pool, index, host) for pool in POOLS[variable] for index, host in enumerate(said["cluster"].get(pool) or [])]


def count_each(environ: Mapping[str, str]) -> int:
    said = environ.get(WORKERS_EACH, "").strip() or "1"
    if not said.isdecimal() or int(said) < 1:
        raise InvalidInputError(f"{WORKERS_EACH}: expected a whole number of 1 or more. Received: {said!r}")
    return int(said)


def _parsed(variable: str, text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
        cluster, task = said["cluster"], said["task"]
        fits = all(isinstance(hosts, list) and all(":" in str(host) for host in hosts) for hosts in cluster.values())
        if fits and isinstance(task["type"], str) and int(task["index"]) >= 0:
            return {"cluster": cluster, "task": task}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # said below, as for what is of another form
    raise InvalidInputError(
        f"{variable}: expected a cluster of host:port and a task, as Vertex AI sets it. Received: {text[:200]}"
    )
