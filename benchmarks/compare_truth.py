"""What a change of memory truly is: the median of several runs with it, less that of as many without, and how unsure that is.

One peak of a process is by chance tens of MiB higher or lower than the next. So runs are added until the truth is known to within
a twentieth of itself, or there are as many as anybody has time for; what then is unsure is said beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MIN_RUNS, MAX_RUNS = 3, 7
KNOWN, KNOWN_BYTES = 0.05, 8 * 2**20  # of an amount, or of any: known better than that it need not be
OF_NINE_IN_TEN = 1.645  # standard errors, on either side
OF_A_MEDIAN = 1.25  # times the standard error of a mean


@dataclass(frozen=True)
class GroundTruth:
    bytes: float
    unsure: float  # nine of ten times it lies no further away
    runs: tuple[int, int]  # without the change, and with it

    @property
    def is_known(self) -> bool:
        return self.unsure <= max(KNOWN_BYTES, KNOWN * abs(self.bytes))


def ground_truth_of(without: Sequence[float], with_it: Sequence[float]) -> GroundTruth | None:
    """By the peaks of runs; None where they are too few."""
    if min(len(without), len(with_it)) < MIN_RUNS:
        return None
    by = statistics.median(with_it) - statistics.median(without)
    return GroundTruth(by, math.hypot(_unsure(without), _unsure(with_it)), (len(without), len(with_it)))


def _unsure(peaks: Sequence[float]) -> float:
    return OF_NINE_IN_TEN * OF_A_MEDIAN * statistics.stdev(peaks) / math.sqrt(len(peaks))


def measured_truth(without: Callable[[int], float | None], with_it: Callable[[int], float | None]) -> GroundTruth | None:
    """Each gives the peak of one more run, by its number from 1 on; None where nothing more is to be run."""
    peaks: tuple[list[float], list[float]] = ([], [])
    found: GroundTruth | None = None
    for number in range(1, MAX_RUNS + 1):
        for own, measure in zip(peaks, (without, with_it), strict=True):
            peak = measure(number)
            own.extend([peak] if peak is not None else [])
        found = ground_truth_of(*peaks)
        if found is not None and found.is_known:
            break
    return found
