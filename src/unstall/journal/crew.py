"""The events that say that a process trains together with others: which of how many it is, and on which machine.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from unstall.journal.base import Event


@dataclass(frozen=True)
class MembershipSeen(Event):
    """A process is one worker of several: as its variables say, or as it told the framework."""

    pid: int = 0
    told_by: str = ""  # UNSTALL_WORKER | TF_CONFIG | JAX_PROCESS_ID | RANK | ... | jax.distributed | torch.distributed
    worker: Optional[int] = None  # counted from 0
    of: Optional[int] = None  # how many there should be
    coordinator: str = ""  # host:port that all of them come to; empty where they are told each other's addresses instead
    addresses: list[str] = field(default_factory=list)  # of all workers, in their order, where they were told
    job: str = ""  # of TF_CONFIG: chief, worker, ps, evaluator


@dataclass(frozen=True)
class MachineSeen(Event):
    """The machine of a run, by which those of several runs are told apart."""

    hostname: str = ""
    boot_id: str = ""  # the kernel's: the same for all containers of a machine, until it is started again
    addresses: list[str] = field(default_factory=list)  # of its interfaces, loopback left out
    clock_s: float = 0.0  # wall clock less the clock that runs since the start of the machine
