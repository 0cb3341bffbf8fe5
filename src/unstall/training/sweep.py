"""A learning-rate range test: from the same start, one step at each of many rising rates, until the loss diverges."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from unstall.report.progress import Progress
from unstall.settings import Settings
from unstall.training.rate_curve import has_diverged, rising, smoothed, suggest
from unstall.training.trying import Trial


def sweep(
    settings: Settings, least: float, most: float, steps: int, aside: Path, progress: Progress | None = None
) -> dict[str, Any]:
    return swept(Trial(settings, aside, progress), rising(least, most, steps), progress)


def swept(trial: Trial, rates: list[float], progress: Progress | None = None) -> dict[str, Any]:
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
        "rate_now": settings.rate,
        "rates": rates[: len(losses)],
        "losses": losses,
        "smoothed": smoothed(losses),
        "suggestion": asdict(suggest(rates, losses)),
    }
