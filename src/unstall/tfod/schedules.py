"""The learning rate of the API as one of the schedules here: to 0 by a cosine, in tenths, or the same all along."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unstall.tfod.config import Node

KINDS = (
    "cosine_decay_learning_rate", "manual_step_learning_rate", "exponential_decay_learning_rate", "constant_learning_rate",
)  # fmt: skip
USUAL_RATE = 0.002
MAX_RATE = 100.0
TENTH = math.log(10)
MAX_DROPS = 12  # a rate of 1e-12 of the highest learns nothing
NEAR = 0.01  # of a tenth, in logarithms: .00003 after .0003 is one


@dataclass(frozen=True)
class LrSchedule:
    """Of the rate over the steps of the API."""

    schedule: str  # cosine, step or constant
    rate: float  # the highest
    warmup_steps: int = 0
    drops_at_steps: tuple[int, ...] = ()  # where a tenth of the rate is left; twice the same step: a hundredth
    total_steps: int = 0  # as the schedule has them; 0: it does not say
    is_exact: bool = True
    begins_at: float = 0.0  # the rate that the warm-up begins with
    beyond: tuple[int, ...] = ()  # steps of the schedule that the training never reaches


def kind_of(rates: Node) -> str:
    return next((kind for kind in KINDS if rates.has(kind)), "")


def read_lr_schedule(rates: Node, num_steps: int) -> LrSchedule:
    """`num_steps` of the training; 0: it does not end by itself."""
    kind = kind_of(rates)
    inner = rates.node(kind)
    if kind == "cosine_decay_learning_rate":
        return _cosine(inner)
    if kind == "manual_step_learning_rate":
        return _manual(inner, num_steps)
    if kind == "exponential_decay_learning_rate":
        return _exponential(inner, num_steps)
    return LrSchedule("constant", inner.number("learning_rate", USUAL_RATE, 0, MAX_RATE))


def _cosine(inner: Node) -> LrSchedule:
    return LrSchedule(
        "cosine",
        inner.number("learning_rate_base", USUAL_RATE, 0, MAX_RATE),
        warmup_steps=inner.whole("warmup_steps", 10_000),
        total_steps=inner.whole("total_steps", 4_000_000),
        begins_at=inner.number("warmup_learning_rate", 0.0002, 0, MAX_RATE),
    )


def _manual(inner: Node, num_steps: int) -> LrSchedule:
    first = inner.number("initial_learning_rate", USUAL_RATE, 0, MAX_RATE)
    by_step = {0: first}
    for each in inner.nodes("schedule"):
        by_step[each.whole("step", 0)] = each.number("learning_rate", USUAL_RATE, 0, MAX_RATE)
    points = sorted(by_step.items())
    reached = [point for point in points if not num_steps or point[0] < num_steps] or points[:1]
    beyond = tuple(step for step, _ in points[len(reached) :])
    highest = max(rate for _, rate in reached)
    began = next(step for step, rate in reached if rate == highest)
    drops, is_exact = approximate_drops([(step, rate) for step, rate in reached if step >= began], highest)
    begins_at = first if began else 0.0
    kind = "step" if drops else "constant"
    return LrSchedule(kind, highest, began, drops, is_exact=is_exact, begins_at=begins_at, beyond=beyond)


def _exponential(inner: Node, num_steps: int) -> LrSchedule:
    rate = inner.number("initial_learning_rate", USUAL_RATE, 0, MAX_RATE)
    every, factor = inner.whole("decay_steps", 4_000_000, 1), inner.number("decay_factor", 0.95, 1e-9, 1.0)
    warm_up = inner.whole("burnin_steps", 0)
    begins_at = inner.number("burnin_learning_rate", 0.0, 0, MAX_RATE)
    floor = inner.number("min_learning_rate", 0.0, 0, MAX_RATE)
    drops = []
    if factor < 1:
        for count in range(1, MAX_DROPS + 1):
            step = round(every * (count - 0.5) * TENTH / -math.log(factor))
            if (num_steps and step >= num_steps) or rate * 10.0 ** (0.5 - count) < floor:
                break
            drops.append(step)
    kind = "step" if drops and num_steps else "constant"
    return LrSchedule(
        kind, rate, warm_up, tuple(drops) if num_steps else (), is_exact=factor == 1.0, begins_at=begins_at
    )  # fmt: skip


def approximate_drops(points: list[tuple[int, float]], highest: float) -> tuple[tuple[int, ...], bool]:
    """Drops to a tenth that come nearest to these steps and rates; and whether they are what was asked for."""
    drops: list[int] = []
    is_exact = True
    for step, rate in points:
        tenths = math.log(highest / rate) / TENTH if rate > 0 and highest > 0 else float(MAX_DROPS)
        wanted = min(round(tenths), MAX_DROPS)
        is_exact &= abs(tenths - wanted) < NEAR and wanted >= len(drops)
        drops += [step] * (wanted - len(drops))
    return tuple(drops), is_exact


def drops_at_epochs(lr_schedule: LrSchedule, total_steps: int, epochs: int) -> list[int]:
    """By their share of the training, at the ends of epochs: the first has the whole rate."""
    return [min(max(round(step / total_steps * epochs), 1), epochs) for step in lr_schedule.drops_at_steps]
