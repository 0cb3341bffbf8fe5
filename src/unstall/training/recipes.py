"""What trains each detector well, by the names of settings. A settings file and options win over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TINY = {
    "optimizer": "adamw", "rate": 2e-3, "weight_decay": 1e-4, "warm_up_steps": 100, "schedule": "cosine", "batch_size": 16,
    "epochs": 7, "most_boxes": 10, "cache_bytes": 2**30,
}  # fmt: skip
RECIPES: dict[str, Mapping[str, Any]] = {
    "ssd_tiny": {**_TINY, "rate": 3e-3, "epochs": 20},
    "retinanet_tiny": _TINY,
    "faster_rcnn_tiny": _TINY,
}


def recipe(model: str) -> Mapping[str, Any]:
    """Nothing for a model that has none: what holds without settings then holds."""
    return RECIPES.get(model, {})
