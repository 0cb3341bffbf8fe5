"""How others look for the largest batch that fits, written from their descriptions, and replayed on measured needs.

Lightning's scaler doubles the batch from 2 until a trial runs out of memory, and takes the last that did not (`power`), or goes
on by halves between the two (`binsearch`). YOLO trainers profile a few small batches, lay a line through what the allocator held,
and take the batch at which the line meets 60 % of the card. A trial is a few training steps; one that runs out is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

MAX_TRIALS = 25
LIGHTNING_MARGIN = 0.05  # that `binsearch` takes off what it found
YOLO_SIZES = (1, 2, 4, 8, 16)
YOLO_SHARE = 0.6


@dataclass
class Trials:
    """Runs a batch against a limit, by what batches were measured to need and which was the largest that ran: near the limit the
    compiler squeezes what a step needs."""

    need: Callable[[int], float]
    limit: float
    largest: int
    done: int = 0
    out_of_memory: int = 0
    seen: dict[int, float] = field(default_factory=dict)

    def fits(self, batch: int) -> bool:
        self.done += 1
        if batch > self.largest:
            self.out_of_memory += 1
            return False
        self.seen[batch] = self.need(batch)
        return True


def lightning_power(trials: Trials) -> int:
    batch = 2
    while trials.done < MAX_TRIALS and trials.fits(batch):
        batch *= 2
    return batch // 2


def lightning_binsearch(trials: Trials) -> int:
    low, high, batch = 1, None, 2
    while trials.done < MAX_TRIALS:
        if trials.fits(batch):
            low = batch
            if high is not None and high - low <= 1:
                break
            batch = batch * 2 if high is None else (low + high) // 2
        else:
            high = batch
            if high - low <= 1:
                break
            batch = (low + high) // 2
    return max(1, int(low * (1 - LIGHTNING_MARGIN)))


def yolo_line(trials: Trials) -> int:
    sizes = [size for size in YOLO_SIZES if trials.fits(size)]
    if len(sizes) < 2:
        return sizes[0] if sizes else 0
    needs = [trials.seen[size] for size in sizes]
    mean_size, mean_need = sum(sizes) / len(sizes), sum(needs) / len(needs)
    slope = sum((size - mean_size) * (need - mean_need) for size, need in zip(sizes, needs, strict=True))
    slope /= sum((size - mean_size) ** 2 for size in sizes)
    return max(1, int((YOLO_SHARE * trials.limit - (mean_need - slope * mean_size)) / slope))


WAYS: dict[str, Callable[[Trials], int]] = {
    "Lightning, power": lightning_power,
    "Lightning, binsearch": lightning_binsearch,
    "YOLO's line": yolo_line,
}


def line_through(points: dict[int, float]) -> Callable[[int], float]:
    """Measured needs by batch, and straight lines between and beyond them; of a single one, through nothing at all."""
    points = points if len(points) > 1 else {0: 0.0, **points}
    sizes = sorted(points)

    def need(batch: int) -> float:
        above = next((place for place, size in enumerate(sizes[1:], 1) if batch <= size), len(sizes) - 1)
        low, high = sizes[above - 1], sizes[above]
        return points[low] + (points[high] - points[low]) / (high - low) * (batch - low)

    return need


def replayed(points: dict[int, float], limit: float, largest: int) -> dict[str, dict[str, int]]:
    """Of each way: the batch it ends with, its trials, and those of them that ran out of memory."""
    plain = {}
    for name, way in WAYS.items():
        trials = Trials(line_through(points), limit, largest)
        batch = way(trials)
        plain[name] = {"batch": batch, "trials": trials.done, "out_of_memory": trials.out_of_memory}
    return plain
