"""Batches whose update was not finite, written for a look: their arrays, and the names of the examples with what is marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from unstall.data.example import DataSet
from unstall.data.pipeline import Batch

MAX = 8  # in a run: the first ones tell enough, and they may be large


def rows_of(batch: Batch) -> list[int]:
    return [int(row) for row in batch.rows if row >= 0]


def write(folder: Path, step: int, batch: Batch, data: DataSet, losses: dict[str, float], gradient_norm: float) -> str:
    """The path of the .npz; empty where enough lie there already, or the disk does not take it."""
    stem = folder / f"step-{step:09d}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path for path in folder.glob("*.npz") if path.stem != stem.name]
        if len(others) >= MAX:
            return ""
        with stem.with_suffix(".npz").open("wb") as file:
            arrays: dict[str, Any] = batch.arrays()
            np.savez_compressed(file, **arrays)
        text = json.dumps(_described(step, batch, data, losses, gradient_norm), indent=1)
        stem.with_suffix(".json").write_text(text, encoding="utf-8")
    except OSError:
        with suppress(OSError):
            stem.with_suffix(".npz").unlink()  # half of it
        return ""
    return str(stem.with_suffix(".npz"))


def _described(step: int, batch: Batch, data: DataSet, losses: dict[str, float], gradient_norm: float) -> dict[str, Any]:
    return {
        "step": step,
        "epoch": batch.epoch + 1,
        "losses": {name: repr(value) for name, value in losses.items()},  # JSON has no word for what is not finite
        "gradient_norm": repr(gradient_norm),
        "examples": [{"row": row, **_example(data, row)} for row in rows_of(batch)],
    }


def _example(data: DataSet, row: int) -> dict[str, Any]:
    example = data.examples[row]
    names: Sequence[str] = data.classes
    return {
        "name": example.name,
        "file": "" if example.image is None else str(example.image.path),
        "annotation": str(example.origin),
        "boxes": example.boxes.tolist(),
        "classes": [names[number] if 0 <= number < len(names) else str(number) for number in example.classes.tolist()],
    }
