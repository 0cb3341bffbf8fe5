"""The events of a training on several processes: who came, and who did not keep up.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class WorkerJoined(Event):
    """A worker has met the others of its run; each tells it in its own journal, a worker that is alone does not."""

    worker: int = 0  # its number, from 0 on
    of: int = 1  # workers of the run
    host: str = ""
    pid: int = 0
    coordinator: str = ""  # host:port of worker 0
    seconds: float = 0.0  # that it waited for the others
    met_at: float = 0.0  # its wall clock when all had come
    ahead_s: Optional[float] = None  # its clock against that of worker 0, when they met; None: it is worker 0, or nobody knows
    ahead_error_s: float = 0.0  # within which that is known: half the time that words took there and back


@dataclass(frozen=True)
class WorkersAwaited(Event):
    """A worker waits for others to come, told now and then."""

    worker: int = 0  # that waits
    of: int = 1
    missing: list[int] = field(default_factory=list)  # as far as it knows: worker 0 knows of all, another of worker 0 alone
    coordinator: str = ""  # host:port at which they meet
    why: str = ""  # worker 0 cannot be reached; empty: it can, or is the one that waits
    seconds: float = 0.0


@dataclass(frozen=True)
class OthersLost(Event):
    """A worker cannot go on, as another is gone or cannot be reached any more; it is well itself."""

    worker: int = 0  # that noticed
    of: int = 1
    step: int = 0
    error: str = ""  # in the words of whoever carries their numbers
    gone: list[int] = field(default_factory=list)  # numbers of those whose process is known to be no more, the first first
    silent: list[int] = field(default_factory=list)  # of those of whom nothing was heard any more


@dataclass(frozen=True)
class OthersMissed(Event):
    """Nothing was heard of other workers for some seconds, in which no step was made, or their process is no more: told by a
    worker when it changes."""

    worker: int = 0  # that noticed
    of: int = 1
    silent: list[int] = field(default_factory=list)  # numbers of those; empty: none, or all are heard again
    gone: list[int] = field(default_factory=list)  # those whose connection has ended: so has their process
    hosts: list[str] = field(default_factory=list)  # of those that are silent
    unreached: list[int] = field(default_factory=list)  # of the silent, those whose machine acknowledges nothing either
    seconds: float = 0.0  # since the last sign of life of the one that has been silent the longest
    step: int = 0


@dataclass(frozen=True)
class WorkerFaltered(Event):
    """A worker has ended before the others, stands still while they wait for it, or makes all of them slow: said by the
    supervisor that watches it; of one on another machine, by those that hear nothing of it."""

    worker: int = 0
    of: int = 1
    pid: int = 0
    how: str = ""  # died | left | lost the others | stopped | stands still | slows | is silent
    step: int = 0  # that it was in, counted over all epochs
    furthest_step: int = 0  # that the others have reached
    seconds: float = 0.0  # since its last sign of life, or since when it is slow, as far as it is known
    where: str = ""  # file:line that its main thread stands at; empty: nobody could look
    stack: list[str] = field(default_factory=list)  # of its main thread, innermost first, a line for each call
    why: str = ""  # in a sentence, where there is more to say
    evidence: list[str] = field(default_factory=list)  # for that
    actions: list[str] = field(default_factory=list)
    certainty: str = ""  # of the cause that was found among the workers


@dataclass(frozen=True)
class WorkerRecovered(Event):
    """A worker that was slow is so no more."""

    worker: int = 0
    of: int = 1
    seconds: float = 0.0  # that it was slow


# The events that say that a process trains together with others: which of how many it is, and on which machine.
#
# Standard library only, syntax of Python 3.7, as all of the journal.


@dataclass(frozen=True)
class MembershipSeen(Event):
    """A process is one worker of several: as its variables say, or as it told the framework."""

    pid: int = 0
    source: str = ""  # UNSTALL_WORKER | TF_CONFIG | JAX_PROCESS_ID | RANK | ... | jax.distributed | torch.distributed
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
