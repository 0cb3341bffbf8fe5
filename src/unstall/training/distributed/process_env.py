"""Who a worker is among the workers of its run: what its environment says, read in this one place.

    UNSTALL_WORKER=1                    its number, from 0 on
    UNSTALL_WORKERS=4                   how many there are
    UNSTALL_COORDINATOR=10.0.0.7:8476   where worker 0 can be reached by all of them

Without them a worker is alone. An engine translates its own variables into these. Standard library only: the supervisor, which
loads no framework, hands them on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unstall.base.errors import InvalidInputError

WORKER, WORKERS, COORDINATOR = "UNSTALL_WORKER", "UNSTALL_WORKERS", "UNSTALL_COORDINATOR"
CARDS = "CUDA_VISIBLE_DEVICES"
LAST_PORT = 65535


@dataclass(frozen=True)
class ProcessEnv:
    worker: int = 0
    workers: int = 1
    coordinator: str = ""  # host:port; empty: it is alone
    card: str = ""  # of its machine, that it computes on; empty: whatever it finds

    @property
    def is_alone(self) -> bool:
        return self.workers == 1

    @property
    def is_first(self) -> bool:
        """Worker 0: it is the coordinator, and writes what the run leaves behind."""
        return self.worker == 0

    @property
    def words(self) -> str:
        """As it is called in front of people, who count as the files do: from 0 on."""
        return "the worker" if self.is_alone else f"worker {self.worker} of {self.workers}"

    def as_environment(self) -> dict[str, str]:
        """What the worker is started with; `of` reads it again."""
        if self.is_alone:
            return {}
        who = {WORKER: str(self.worker), WORKERS: str(self.workers), COORDINATOR: self.coordinator}
        return {**who, CARDS: self.card} if self.card else who


def is_given(environ: Mapping[str, str]) -> bool:
    """Whether somebody has said who this worker is."""
    return bool(environ.get(WORKER) or environ.get(WORKERS))


def of(environ: Mapping[str, str]) -> ProcessEnv:
    """A wrong or missing variable is named."""
    if not is_given(environ):
        return ProcessEnv()
    workers = _number(environ, WORKERS, least=1)
    worker = _number(environ, WORKER, least=0)
    if worker >= workers:
        raise InvalidInputError(f"{WORKER}: expected a number below {WORKERS} ({workers}), counted from 0. Received: {worker}")
    if workers == 1:
        return ProcessEnv()
    return ProcessEnv(worker, workers, _address(environ.get(COORDINATOR, "")))


def _number(environ: Mapping[str, str], name: str, least: int) -> int:
    said = environ.get(name, "").strip()
    if not said.isdecimal() or int(said) < least:
        raise InvalidInputError(f"{name}: expected a whole number of {least} or more. Received: {said!r}")
    return int(said)


def _address(said: str) -> str:
    host, _, port = said.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= LAST_PORT:
        raise InvalidInputError(f"{COORDINATOR}: expected host:port of worker 0, as in 10.0.0.7:8476. Received: {said!r}")
    return said.strip()
