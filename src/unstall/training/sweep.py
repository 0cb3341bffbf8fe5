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
    """Plain data: rates, losses, the smoothed ones, what they suggest."""
    trial = Trial(settings, aside, progress)
    rates, losses = rising(least, most, steps), list[float]()
    with trial.batches() as batches:
        for rate in rates:
            losses.append(trial.loss_at(rate, next(batches)))
            if progress is not None:
                progress(f"rate {rate:.1e}", len(losses), steps)
            if has_diverged(losses):
                break
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
