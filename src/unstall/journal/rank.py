"""Which worker of how many a process is, by the variables through which frameworks and launchers tell it.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from unstall.journal.events import MembershipSeen

LONGEST_TF_CONFIG = 200_000
ALONE = 1
# (name of the way, variable of the number, of the count, of the coordinator or ""): the first that is whole counts.
_NUMBERED = (
    ("UNSTALL_WORKER", "UNSTALL_WORKER", "UNSTALL_WORKERS", "UNSTALL_COORDINATOR"),
    ("JAX_PROCESS_ID", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS"),
    ("RANK", "RANK", "WORLD_SIZE", ""),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""),
    ("PMI_RANK", "PMI_RANK", "PMI_SIZE", ""),
)  # Slurm's are left out: a script of sbatch has the number 0 of many tasks, and trains alone


@dataclass(frozen=True)
class RankInfo:
    """The rank of one process, with the fields of `MembershipSeen`."""

    source: str
    worker: Optional[int]
    of: Optional[int]
    coordinator: str = ""
    addresses: tuple[str, ...] = ()
    job: str = ""

    @property
    def is_of_several(self) -> bool:
        return self.of is None or self.of > ALONE

    def to_event(self, pid: int) -> MembershipSeen:
        return MembershipSeen(
            at=time.time(),
            pid=pid,
            source=self.source,
            worker=self.worker,
            of=self.of,
            coordinator=self.coordinator,
            addresses=list(self.addresses),
            job=self.job,
        )


def read_rank(variables: Mapping[str, str]) -> Optional[RankInfo]:
    """None for a process that is told of no others."""
    text = _numbered(variables, *_NUMBERED[0]) or _by_tf_config(variables.get("TF_CONFIG", ""))
    for names in _NUMBERED[1:]:
        text = text or _numbered(variables, *names)
    return text if text is not None and text.is_of_several else None


def _numbered(variables: Mapping[str, str], way: str, number: str, count: str, coordinator: str) -> Optional[RankInfo]:
    worker, of = _count(variables.get(number, "")), _count(variables.get(count, ""))
    if worker is None or of is None:
        return None
    address = variables.get(coordinator, "") if coordinator else _master(variables)
    return RankInfo(way, worker, of, address)


def _master(variables: Mapping[str, str]) -> str:
    host, port = variables.get("MASTER_ADDR", ""), variables.get("MASTER_PORT", "")
    return f"{host}:{port}" if host and port else ""


def _count(text: Any) -> Optional[int]:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else None


def _by_tf_config(text: str) -> Optional[RankInfo]:
    """Workers are counted as MultiWorkerMirroredStrategy does: the chief first."""
    if not text or len(text) > LONGEST_TF_CONFIG:
        return None
    try:
        plain = json.loads(text)
        cluster, task = plain.get("cluster", {}), plain.get("task", {})
        job, index = str(task.get("type", "")), int(task.get("index", 0))
        lists = {str(name): [str(address) for address in addresses] for name, addresses in cluster.items()}
    except (ValueError, TypeError, AttributeError):
        return None
    before = [address for name in ("chief", "master") for address in lists.get(name, [])]
    workers = [*before, *lists.get("worker", [])]
    if job in {"worker", "chief", "master"} and workers:
        number = index + (len(before) if job == "worker" else 0)
        return RankInfo("TF_CONFIG", number, len(workers), "", tuple(workers), job)
    everyone = [address for addresses in lists.values() for address in addresses]
    return RankInfo("TF_CONFIG", None, None, "", tuple(everyone), job) if len(everyone) > ALONE else None
