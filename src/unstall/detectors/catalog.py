"""The detectors that can be trained, as plain data. The list needs no framework."""

from __future__ import annotations

import json
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from unstall.config.detectors import FAMILIES, family_of, image_px, variants
from unstall.config.sources import resolve

SHAPES = Path(__file__).parent / "weights" / "shapes.json"


def models() -> dict[str, Any]:
    return {"models": [_told(name) for name in variants()], "families": FAMILIES.summaries()}


@cache
def _shapes() -> dict[str, Any]:
    """Of every tensor of every variant. `detectors.weights.shapes`, which writes the file, would load NumPy."""
    stored: dict[str, Any] = json.loads(SHAPES.read_text(encoding="utf-8"))
    return stored


def _told(name: str) -> dict[str, Any]:
    settings = resolve({"model": name}).settings
    return {
        "model": name,
        "family": family_of(name),
        "parameters": sum(prod(shape) for shape in _shapes()[name]["tensors"].values()),
        "image_px": list(image_px(name)),
        "batch_size": settings.batch_size,
        "epochs": settings.epochs,
        "optimizer": settings.optimizer,
        "learning_rate": settings.learning_rate,
    }
