"""The detectors that can be trained, as plain data: read from the sources, so that a list needs no framework."""

from __future__ import annotations

import json
from functools import cache
from math import prod
from typing import Any

from unstall.config.sources import resolve
from unstall.detectors import FOLDER, families, pages, variants


def models() -> dict[str, Any]:
    return {"models": [_told(name) for name in variants()], "families": pages.summaries()}


@cache
def _shapes() -> dict[str, Any]:
    """Of every tensor of every variant. `detectors.weights.shapes`, which writes the file, would load NumPy."""
    stored: dict[str, Any] = json.loads((FOLDER / "weights" / "shapes.json").read_text(encoding="utf-8"))
    return stored


def _told(name: str) -> dict[str, Any]:
    settings = resolve({"model": name}).settings
    family = next(family for family, names in families().items() if name in names)
    return {
        "model": name,
        "family": family,
        "parameters": sum(prod(shape) for shape in _shapes()[name]["tensors"].values()),
        "image_px": list(pages.image_px(name)),
        "batch_size": settings.batch_size,
        "epochs": settings.epochs,
        "optimizer": settings.optimizer,
        "learning_rate": settings.learning_rate,
    }
