"""Workers of a TrainJob of Kubeflow Trainer (v2, its JAX runtime): one pod for each node, told of the others by three variables.

    JAX_NUM_PROCESSES=4    JAX_PROCESS_ID=1    JAX_COORDINATOR_ADDRESS=job-node-0-0.job:6666

`unstall cloud submit --engine kubeflow` writes such a TrainJob. UNSTALL_WORKERS_EACH, which it sets, is how many workers
a pod has: one for each of its cards.
"""

from __future__ import annotations

from collections.abc import Mapping

from unstall.base.errors import InvalidInputError
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.engines.vertex import count_each

HINT = "JAX_NUM_PROCESSES, JAX_PROCESS_ID and JAX_COORDINATOR_ADDRESS of Kubeflow Trainer"
COUNT, NUMBER, ADDRESS = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"
VARIABLES = (COUNT,)


def recognise(environ: Mapping[str, str]) -> str:
    """A job of one pod is like any machine: whatever workers it has, it starts them itself."""
    is_given = environ.get(COUNT, "").strip() and environ.get(NUMBER, "").strip()
    return COUNT if is_given and environ[COUNT].strip() != "1" else ""


def build_process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    nodes, node = _number(environ, COUNT), _number(environ, NUMBER)
    if node >= nodes:
        raise InvalidInputError(f"{NUMBER}: expected a number below {COUNT} ({nodes}), counted from 0. Received: {node}")
    address = environ.get(ADDRESS, "").strip()
    if not address.rpartition(":")[0]:
        raise InvalidInputError(f"{ADDRESS}: expected host:port of the first pod. Received: {address!r}")
    each = count_each(environ)
    return [ProcessEnv(number, nodes * each, address) for number in range(node * each, node * each + each)]


def _number(environ: Mapping[str, str], name: str) -> int:
    said = environ.get(name, "").strip()
    if not said.isdecimal():
        raise InvalidInputError(f"{name}: expected a whole number. Received: {said!r}")
    return int(said)
