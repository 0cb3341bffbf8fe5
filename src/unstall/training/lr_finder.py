"""A learning-rate range test: from the same start, one step at each of many rising rates, until the loss diverges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unstall.backends.startup import start
from unstall.base.console import Progress
from unstall.config.settings import Settings, apply_changes


def find_learning_rate(
    settings: Settings, min_lr: float, max_lr: float, num_steps: int, aside: Path, progress: Progress | None = None
) -> dict[str, Any]:
    return run_range_test(Trial(settings, aside, progress), space_rates(min_lr, max_lr, num_steps), progress)


def run_range_test(trial: Trial, rates: list[float], progress: Progress | None = None) -> dict[str, Any]:
    """Plain data: rates, losses, the smoothed ones, what they suggest."""
    losses: list[float] = []
    trial.begin_again()
    with trial.batches() as batches:
        for rate in rates:
            losses.append(trial.loss_at(rate, next(batches)))
            if progress is not None:
                progress(f"rate {rate:.1e}", len(losses), len(rates))
            if has_diverged(losses):
                break
    settings = trial.settings
    return {
        "model": settings.model,
        "data": settings.data,
        "backend": trial.backend,
        "optimizer": settings.optimizer,
        "batch_size": settings.batch_size,
        "learning_rate_now": settings.learning_rate,
        "learning_rates": rates[: len(losses)],
        "losses": losses,
        "smoothed": smooth(losses),
        "suggestion": asdict(suggest(rates, losses)),
    }


# What a learning-rate range test says: losses at rising rates, made smooth, and the rate that they suggest. Pure functions.


WINDOW = 7  # rates over which a loss is averaged: single batches differ more than neighbouring rates do
DIVERGED = 4.0  # times the least smoothed loss: it does not come back from there
MIN_FALL = 0.05  # of the first loss; with less than this no rate has learned anything
FROM_LEAST = 3.0  # the rate of the least loss is near divergence: a run wants a third of it at most
FROM_DIVERGED = 4.0  # and a quarter of what diverges at most


@dataclass(frozen=True)
class Suggestion:
    """`learning_rate` is None where the curve gives none; `why` says so."""

    learning_rate: float | None
    why: str
    steepest_lr: float | None = None  # where the loss falls fastest
    lowest_loss_lr: float | None = None
    diverged_lr: float | None = None


def space_rates(least: float, most: float, steps: int) -> list[float]:
    """So many rates, each the same times the one before."""
    return [least * (most / least) ** (number / (steps - 1)) for number in range(steps)]


def smooth(losses: Sequence[float]) -> list[float]:
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
    return len(losses) >= WINDOW and min(last) > DIVERGED * min(smooth(losses[: -len(last)]) or [math.inf])


def suggest(rates: Sequence[float], losses: Sequence[float]) -> Suggestion:
    """Where the loss falls fastest for each doubling of the rate, but well below where it is least or diverges."""
    ended_in_divergence = has_diverged(losses)
    finite = [(rate, loss) for rate, loss in zip(rates, losses, strict=False) if math.isfinite(loss)]
    if len(finite) < 2 * WINDOW:
        return Suggestion(None, f"the loss diverged within {len(losses)} steps: begin with a lower rate (--min-lr)")
    curve = smooth([loss for _, loss in finite])
    tried = [rate for rate, _ in finite]
    lowest = min(range(len(curve)), key=curve.__getitem__)
    start = max(curve[: WINDOW // 2 + 1])
    fall = start - curve[lowest]
    diverged = tried[-1] if ended_in_divergence else None
    if fall < MIN_FALL * abs(start) or lowest == 0:
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


# Steps on trial: a detector at its first weights, batches as a run would have them, and whatever rate one likes.


BATCHES_AHEAD = 4


class Trial:
    """Nothing of it is kept: `begin_again` takes every step back."""

    def __init__(self, settings: Settings, aside: Path, progress: Progress | None = None) -> None:
        """`aside`: where the embedded shapes are drawn if the user's cache cannot be written."""
        self.backend = start(None if settings.backend == "auto" else settings.backend, takes_card=True)
        from unstall.training.loop.datasets import load_datasets
        from unstall.training.loop.setup import build_detector, create_pipeline, get_image_size
        from unstall.training.step.step import Step

        self.settings = settings = settings.alone()
        data = load_datasets(settings, get_image_size(settings), aside, progress)
        detector = build_detector(settings, data.classes, lambda line: None)
        # A few batches ahead: a trial takes few, and small ones would be made by the thousand.
        height, width = detector.settings.image_size
        prefetch_bytes = min(settings.prefetch_bytes, BATCHES_AHEAD * settings.batch_size * height * width * 3)
        self.pipeline = create_pipeline(apply_changes(settings, {"prefetch_bytes": prefetch_bytes}), detector, data.train)
        self._step = Step(detector, self.settings, total_steps=1)
        self._first = self._step.arrays()

    @contextmanager
    def batches(self) -> Iterator[Iterator[dict[str, Any]]]:
        """As many as are asked for, over as many epochs."""

        with self.pipeline.batches(epochs=None) as stream:
            yield (batch.inputs() for batch in stream)

    def loss_at(self, rate: float, batch: dict[str, Any]) -> float:
        """The loss before this step's update; infinite where the update was not finite, and so not applied."""
        output = self._step(batch, rate).read()
        return output.loss if output.is_applied or output.is_overflow else float("inf")

    def begin_again(self) -> None:
        self._step.restore(self._first)
