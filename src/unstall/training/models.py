"""The detectors that can be trained, as plain data: read from the sources, so that a list needs no framework."""

from __future__ import annotations

from math import prod
from typing import Any

from unstall.detectors import families, pages, variants
from unstall.settings_sources import resolve


def models() -> dict[str, Any]:
    return {"models": [_told(name) for name in variants()], "families": pages.summaries()}


def _told(name: str) -> dict[str, Any]:
    from unstall.detectors.weights import shapes

    settings = resolve({"model": name}).settings
    family = next(family for family, names in families().items() if name in names)
    return {
        "model": name,
        "family": family,
        "parameters": sum(prod(shape) for shape in shapes.known()[name].shapes.values()),
        "image_px": list(pages.image_px(name)),
        "batch_size": settings.batch_size,
        "epochs": settings.epochs,
        "optimizer": settings.optimizer,
        "rate": settings.rate,
    }
