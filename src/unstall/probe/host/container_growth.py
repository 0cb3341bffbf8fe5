"""What the program keeps: its own lists, dicts and sets that grow while its memory grows, and the line that feeds each.

A leak in Python is nearly always a container that somebody forgot. When memory has grown by some tens of megabytes
since the last look, the containers that the program's own code can name (globals, locals, attributes) are
counted; the ones that grow from look to look are told. Nothing is kept alive by it: containers are known by their id, and
no code of the program's own runs.
"""

from __future__ import annotations

import os
import time
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import HoldingsCounted
from unstall.probe.core.probe import Probe
from unstall.probe.host import containers
from unstall.probe.host.container_writes import feeder
from unstall.probe.host.containers import CacheLength, Place, find_containers

LOOK_EVERY_S = 2.0
FIRST_AFTER_S = 2.0  # after the first step: what is made once has been made
GROWN_BYTES = 24 << 20  # memory must have grown by so much since the last count
MIN_GROWTH = 4  # entries that a container must have gained to be told
MAX_TOLD = 5
MAX_COUNTS = 60
COST_ALLOWANCE_S = 0.8  # CPU time for all counts, and a share of the run's time more
COST_SHARE = 0.004
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Holder:
    """One container, over several looks. The container itself is not kept."""

    def __init__(self, place: Place, length: int) -> None:
        self.place = place
        self.first = self.length = length
        self.looks = 0

    def saw(self, length: int) -> None:
        self.looks = self.looks + 1 if length > self.length else 0
        if length < self.length:
            self.first = length
        self.length = length


class ContainerGrowth:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._due = 0.0
        self._began = time.monotonic()
        self._cost_s = 0.0
        self._steps = 0
        self._counts = 0
        self._first_bytes: Optional[int] = None
        self._last_bytes = 0
        self._holders: dict[int, Holder] = {}

    def step_ended(self, model: Any = None, steps: int = 0) -> None:
        """After each step; costs a comparison unless a look is due."""
        self._steps = steps or self._steps + 1
        now = time.monotonic()
        if now < self._due:
            return
        if self._due == 0.0:
            self._due = now + FIRST_AFTER_S
            return
        self._due = now + LOOK_EVERY_S
        memory = own_bytes()
        if self._first_bytes is None:  # a count looks at all that the interpreter knows: half a second of a large program's time
            self._first_bytes = self._last_bytes = memory
        if memory - self._last_bytes < GROWN_BYTES:
            return
        if self._counts < MAX_COUNTS and self._cost_s <= COST_ALLOWANCE_S + COST_SHARE * (now - self._began):
            began = time.thread_time()
            self._count(memory)
            self._cost_s += time.thread_time() - began

    def _count(self, memory: int) -> None:
        self._counts += 1
        self._last_bytes = memory
        first_bytes = memory if self._first_bytes is None else self._first_bytes
        seen: dict[int, Holder] = {}
        grown: list[tuple[Holder, Any]] = []
        for place, container in find_containers():
            key, length = _key(container), len(container)
            if key in seen:
                continue  # it has several names
            holder = self._holders.get(key)
            if holder is None or holder.place.name != place.name:
                holder = Holder(place, length)
            else:
                holder.saw(length)
                if holder.looks and length - holder.first >= MIN_GROWTH:
                    grown.append((holder, container))
            seen[key] = holder
        self._holders = seen
        told = [_told(holder, container) for holder, container in grown]
        told.sort(key=lambda each: -(each["bytes_each"] or 0) * each["grown"])
        self._probe.emit(
            HoldingsCounted(
                at=time.time(),
                memory_bytes=memory,
                grown_bytes=memory - first_bytes,
                step=self._steps,
                holders=[_with_feeder(each) for each in told[:MAX_TOLD] if each["bytes_each"] != 0],
            )
        )


def _key(container: Any) -> int:
    return id(container.wrapper) if isinstance(container, CacheLength) else id(container)


def _told(holder: Holder, container: Any) -> dict[str, Any]:
    grown = holder.length - holder.first
    holds, bytes_each = containers.newest(container, grown)
    return {
        "kind": type(container).__name__,
        "length": holder.length,
        "grown": grown,
        "looks": holder.looks,
        "holds": holds,
        "bytes_each": bytes_each,
        "bounded": getattr(container, "maxlen", None) is not None,
        "name": holder.place.name,
        "place": holder.place,
    }


def _with_feeder(told: dict[str, Any]) -> dict[str, Any]:
    """The line of source that adds to it, looked for only in what is told."""
    place: Place = told.pop("place")
    found = feeder(place)
    return {**told, "where": found.where, "sheds": found.sheds, "bounded": told["bounded"] or found.bounded}


def own_bytes() -> int:
    """The memory of this process that is not backed by files."""
    with open("/proc/self/statm", encoding="ascii") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE


def holdings_of(probe: Probe) -> ContainerGrowth:
    """The one record of a probe; made, and called after each step from then on, when a framework is first seen."""
    holdings: Optional[ContainerGrowth] = probe.extras.get("holdings")
    if holdings is None:
        holdings = probe.extras["holdings"] = ContainerGrowth(probe)
        probe.on_step.append(holdings.step_ended)
    return holdings


def install(module: ModuleType, probe: Probe) -> None:
    """Any module of a framework that trains: steps that the probe counts are enough."""
    holdings_of(probe)


def install_torch(module: ModuleType, probe: Probe) -> None:
    """torch.optim.optimizer: one's own PyTorch loop, of which the probe sees nothing else."""
    holdings = holdings_of(probe)

    def unstall_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if probe.active and probe.fit_depth == 0:
            probe.shield.call("holdings", holdings.step_ended)

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(unstall_step)
