"""Of which workers of other machines nothing is heard any more, by what a worker of this machine tells of them (`OthersMissed`).

It is said once, and again when they are heard again. Nobody is ended for it: the framework does that when it has been so for
longer, and until then the line may come back. Those of this machine are left out: whoever watches them knows better.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.journal.events import OthersMissed
from unstall.journal.reader import Journal

HOW = "is silent"


@dataclass(frozen=True)
class Heard:
    """What is new."""

    silent: dict[int, str]  # number of a worker: in a sentence
    again: tuple[int, ...]  # numbers of those that are heard again
    seconds: float = 0.0  # since the last sign of life
    of: int = 1


class Silence:
    def __init__(self, ours: set[int]) -> None:
        self._ours = ours
        self._silent: set[int] = set()  # that was said of
        self._until = 0.0  # wall clock: up to what was told

    def look(self, journal: Journal) -> Heard | None:
        """What is to be said now, if anything."""
        told = journal.last(OthersMissed)
        if told is None or told.at <= self._until:
            return None
        self._until = told.at
        named = {worker: host for worker, host in zip(told.silent, told.hosts, strict=False) if worker not in self._ours}
        fresh = {worker: _sentence(worker, host, told) for worker, host in named.items() if worker not in self._silent}
        again = tuple(sorted(self._silent - set(named) - set(told.gone)))
        self._silent = set(named)
        return Heard(fresh, again, told.seconds, told.of) if fresh or again else None


def _sentence(worker: int, host: str, told: OthersMissed) -> str:
    why = "its machine is down, or the line to it is cut"
    if worker not in told.unreached:
        why = "its machine answers, and its process does not: it is stopped, or kept from running"
    return f"nothing was heard of worker {worker} of {told.of} ({host}) for {told.seconds:.0f} s, and no step was made: {why}"


def gone_s(journal: Journal) -> float:
    """For how long it has been known that the process of another is no more; 0: of none."""
    since = None
    for told in reversed(journal.of(OthersMissed)):
        if not told.gone:
            break
        since = told.at
    return max(0.001, journal.now - since) if since is not None else 0.0
