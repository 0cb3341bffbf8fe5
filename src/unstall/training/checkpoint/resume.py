"""Whether a run that goes on learns from what it was begun with: classes must be the same, images may be others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_count, some
from unstall.training.checkpoint.integrity import POSITION

if TYPE_CHECKING:
    from unstall.training.loop.datasets import TrainValData

DATA = "data"  # of a checkpoint's position
FIX = "give it the same classes in the same order, or learn the others in a new run (--weights RUN/best.safetensors)"


def describe_data(learned: TrainValData) -> dict[str, Any]:
    return {"classes": list(learned.classes), "examples": len(learned.train.examples)}


def refuse_other_classes(position: dict[str, Any], learned: TrainValData) -> str:
    """What was learned under one name must not go on under another. Gives what is to be said of other images; else nothing."""
    before, now = position.get(DATA), describe_data(learned)
    if before is None:  # a checkpoint of an older version
        return ""
    if before["classes"] != now["classes"]:
        raise InvalidInputError(f"data: {other_classes(before['classes'], now['classes'])}. Expected the same. To do: {FIX}.")
    if before["examples"] == now["examples"]:
        return ""
    images = format_count(now["examples"], "image")
    return f"The data has changed: {images} to learn from, where there were {before['examples']:,} before."


def other_classes(before: Sequence[str], now: Sequence[str]) -> str:
    return f"the run has learned {_named(before)}; the data has {_named(now)} now"


def classes_at_start(checkpoints: Path) -> list[str] | None:
    """By the newest checkpoint that says so; nothing is verified. None where none does."""
    for path in sorted(checkpoints.glob("step-*"), reverse=True) if checkpoints.is_dir() else ():
        try:
            return list(json.loads((path / POSITION).read_bytes())["position"][DATA]["classes"])
        except (OSError, KeyError, TypeError, ValueError):
            continue
    return None


def _named(classes: Sequence[str]) -> str:
    return f"{format_count(len(classes), 'class', 'classes')} ({some(classes)})"
