"""How two runs differed in memory, time, loss and score, and whether by more than such runs differ by themselves."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from unstall.compare import facts
from unstall.compare.facts_of_run import OF_THE_RUN

HOST_NOISE_BYTES = 24 * 2**20  # that the peak of a process differs by, run to run: threads, caches of the allocator
HOST_NOISE_SHARE = 0.02
DEVICE_NOISE_SHARE = 0.01
DEVICE_NOISE_BYTES = 8 * 2**20
TIME_NOISE_SHARE = 0.15  # of a step: what else a machine does
CROWD_SHARE = 0.5  # of the waiting for a core: a part of it is the program's own threads, which get in each other's way
LEAST_STEP_S = 0.0003  # a part that changed by less is nobody's concern
LOSS_NOISE_SHARE = 0.08
FEW_STEPS = 3
PARTS = ("input", "compute", "validation", "checkpoint", "compile")


@dataclass(frozen=True)
class Moved:
    """A figure of both runs. `is_clear`: it moved by more than noise."""

    what: str
    before: float | None
    after: float | None
    noise: float
    unit: str

    @property
    def by(self) -> float:
        return self.after - self.before if self.before is not None and self.after is not None else 0.0

    @property
    def is_clear(self) -> bool:
        return self.before is not None and self.after is not None and abs(self.by) > self.noise

    @property
    def share(self) -> float:
        """How much it moved, the same for twice as for half: 0.69."""
        if not self.before or not self.after or self.before <= 0 or self.after <= 0:
            return 1.0 if self.is_clear else 0.0
        return abs(math.log(self.after / self.before))

    def as_plain(self) -> dict[str, Any]:
        return {
            "what": self.what, "before": self.before, "after": self.after, "by": self.by, "noise": self.noise, "unit": self.unit,
            "is_clear": self.is_clear,
        }  # fmt: skip


def memory(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    """On the card where there is one; else of the host."""
    name = "device_peak_bytes" if facts.figure(before, "device_peak_bytes") and facts.figure(after, "device_peak_bytes") else ""
    old, new = facts.figure(before, name or "host_peak_bytes"), facts.figure(after, name or "host_peak_bytes")
    most = max(old or 0.0, new or 0.0)
    noise = max(DEVICE_NOISE_BYTES, DEVICE_NOISE_SHARE * most) if name else max(HOST_NOISE_BYTES, HOST_NOISE_SHARE * most)
    return Moved("device memory" if name else "host memory", old, new, noise, "B")


def step(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    old, new = facts.figure(before, "step_s"), facts.figure(after, "step_s")
    return Moved("step", old, new, _time_noise(before, after, old, new), "s")


def speed(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    """Images of a second: as unsure as the step that it is made of."""
    taken = step(before, after)
    old, new = facts.figure(before, "images_per_s"), facts.figure(after, "images_per_s")
    share = taken.noise / taken.before if taken.before else TIME_NOISE_SHARE
    return Moved("images per second", old, new, share * max(old or 0.0, new or 0.0), "")


def part(name: str, before: dict[str, Any], after: dict[str, Any]) -> Moved:
    old, new = _part(before, name), _part(after, name)
    whole, now = facts.figure(before, "step_s"), facts.figure(after, "step_s")
    if name in OF_THE_RUN:
        crowd = max(facts.crowded(before), facts.crowded(after))
        return Moved(name, old, new, max(1.0, max(0.4, crowd) * max(old or 0.0, new or 0.0)), "s")
    return Moved(name, old, new, _time_noise(before, after, whole, now), "s")


def _part(record: dict[str, Any], name: str) -> float | None:
    """A framework that computes while Python goes on is waited for between steps: both are its computing."""
    own, between = facts.part(record, name), facts.part(record, "other")
    return own + between if name == "compute" and own is not None and between is not None else own


def _time_noise(before: dict[str, Any], after: dict[str, Any], old: float | None, new: float | None) -> float:
    """Of the median of so many steps, by how much they differ among each other; never less than a share of them."""
    usual = min(value for value in (old, new) if value) if old and new else 0.0
    spreads = [facts.spread(record) for record in (before, after)]
    spread = max((value for value in spreads if value is not None), default=0.0)
    crowd = CROWD_SHARE * max(facts.crowded(before), facts.crowded(after)) * usual
    return max(LEAST_STEP_S, TIME_NOISE_SHARE * usual, min(spread, 2.0 * usual), crowd)


def loss(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    """At the same step, the last that both runs have told of: the mean of the last quarter."""
    old, new = facts.curve(before), facts.curve(after)
    upto = min((curve[-1][0] for curve in (old, new) if curve), default=0.0)
    ends = [_end([value for place, value in curve if place <= upto]) for curve in (old, new)]
    if ends[0] is None or ends[1] is None:
        return _of_the_same_step(old, new)
    spread = max(ends[0][1], ends[1][1])
    noise = max(2.0 * spread, LOSS_NOISE_SHARE * max(abs(ends[0][0]), abs(ends[1][0])))
    return Moved("loss", ends[0][0], ends[1][0], noise, "")


def _of_the_same_step(old: list[tuple[float, float]], new: list[tuple[float, float]]) -> Moved:
    """Of runs that told very few losses: the last one, where it is of the same step."""
    if not old or not new or old[-1][0] != new[-1][0]:
        return Moved("loss", None, None, 0.0, "")
    first, last = old[-1][1], new[-1][1]
    return Moved("loss", first, last, 2.0 * LOSS_NOISE_SHARE * max(abs(first), abs(last)), "")


def first_loss(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    """Before anything was learned: what then differs came in with the data, the model or the loss, not with the optimizer."""
    old, new = facts.figure(before, "loss_first"), facts.figure(after, "loss_first")
    return Moved("first loss", old, new, 0.25 * max(abs(old or 0.0), abs(new or 0.0)), "")


def _end(values: list[float]) -> tuple[float, float] | None:
    """The mean of the last quarter, and how far its values lie from it."""
    last = values[-max(1, len(values) // 4) :]
    if len(values) < FEW_STEPS or not all(math.isfinite(value) for value in last):
        return None
    mean = statistics.fmean(last)
    return mean, statistics.pstdev(last) / math.sqrt(len(last)) if len(last) > 1 else 0.0


def score(before: dict[str, Any], after: dict[str, Any]) -> Moved:
    old, new = facts.score(before), facts.score(after)
    return Moved("AP", old, new, 0.01, "")


def all_moved(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Moved]:
    parts = {name: part(name, before, after) for name in PARTS}
    own = [
        memory(before, after), step(before, after), speed(before, after), loss(before, after), first_loss(before, after),
        score(before, after),
    ]  # fmt: skip
    return {**parts, **{moved.what if "memory" not in moved.what else "memory": moved for moved in own}}
