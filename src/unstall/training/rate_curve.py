"""What a learning-rate range test says: losses at rising rates, made smooth, and the rate that they suggest. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 7  # rates over which a loss is averaged: single batches differ more than neighbouring rates do
DIVERGED = 4.0  # times the least smoothed loss: it does not come back from there
LEAST_FALL = 0.05  # of the first loss; with less than this no rate has learned anything
FROM_LEAST = 3.0  # the rate of the least loss is near divergence: a run wants a third of it at most
FROM_DIVERGED = 4.0  # and a quarter of what diverges at most


@dataclass(frozen=True)
class Suggestion:
    """`rate` is None where the curve gives none; `why` says so."""

    rate: float | None
    why: str
    steepest_rate: float | None = None
    least_rate: float | None = None
    diverged_rate: float | None = None


def rising(least: float, most: float, steps: int) -> list[float]:
    """So many rates, each the same times the one before."""
    return [least * (most / least) ** (number / (steps - 1)) for number in range(steps)]


def smoothed(losses: Sequence[float]) -> list[float]:
    """The mean over neighbours on both sides, so that nothing is moved to a higher rate. Fewer at the ends."""
    half = WINDOW // 2
    result = []
    for number in range(len(losses)):
        reach = min(half, number, len(losses) - 1 - number)
        near = losses[number - reach : number + reach + 1]
        result.append(sum(near) / len(near))
    return result


def has_diverged(losses: Sequence[float]) -> bool:
    """So far: the last few are far above the best that there was, or one is no number."""
    if not losses or not math.isfinite(losses[-1]):
        return bool(losses)
    last = losses[-3:]
    return len(losses) >= WINDOW and min(last) > DIVERGED * min(smoothed(losses[: -len(last)]) or [math.inf])


def suggest(rates: Sequence[float], losses: Sequence[float]) -> Suggestion:
    """Where the loss falls fastest for each doubling of the rate, but well below where it is least or diverges."""
    ended_in_divergence = has_diverged(losses)
    finite = [(rate, loss) for rate, loss in zip(rates, losses, strict=False) if math.isfinite(loss)]
    if len(finite) < 2 * WINDOW:
        return Suggestion(None, f"the loss diverged within {len(losses)} steps: begin with a lower rate (--least)")
    curve = smoothed([loss for _, loss in finite])
    tried = [rate for rate, _ in finite]
    lowest = min(range(len(curve)), key=curve.__getitem__)
    start = max(curve[: WINDOW // 2 + 1])
    fall = start - curve[lowest]
    diverged = tried[-1] if ended_in_divergence else None
    if fall < LEAST_FALL * abs(start) or lowest == 0:
        return Suggestion(
            None, f"the loss fell by {fall / abs(start or 1):.0%} at most: no rate up to {tried[-1]:.2g} learned anything"
        )
    steepest = min(range(1, lowest + 1), key=lambda number: _slope(tried, curve, number))
    most = min(tried[lowest] / FROM_LEAST, diverged / FROM_DIVERGED if diverged else math.inf)
    rate = min(tried[steepest], most)
    edge = f"; it diverged at {diverged:.2g}" if diverged else f"; it had not diverged at {tried[-1]:.2g}"
    why = f"the loss falls fastest at {tried[steepest]:.2g} and is least at {tried[lowest]:.2g}{edge}"
    return Suggestion(_rounded(rate), why, tried[steepest], tried[lowest], diverged)


def _slope(rates: Sequence[float], curve: Sequence[float], number: int) -> float:
    """Around this rate, over several: between two neighbours it is mostly noise."""
    before, after = max(0, number - WINDOW // 2), min(len(curve) - 1, number + WINDOW // 2)
    return (curve[after] - curve[before]) / math.log(rates[after] / rates[before])


def _rounded(rate: float) -> float:
    """To two digits: more is not known."""
    return float(f"{rate:.1e}")
