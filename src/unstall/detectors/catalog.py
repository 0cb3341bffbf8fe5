"""The detectors that can be trained, as plain data. The list needs no framework."""

from __future__ import annotations

import json
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from unstall.config.detectors import (
    FAMILIES,
    find_family,
    get_image_size,
    list_changed_settings,
    list_families,
    list_family_settings,
    list_variants,
)
from unstall.config.sources import resolve

SHAPES = Path(__file__).parent / "weights" / "shapes.json"


def list_models() -> dict[str, Any]:
    return {"models": [_describe_model(name) for name in list_variants()], "families": FAMILIES.summaries()}


@cache
def _shapes() -> dict[str, Any]:
    """Of every tensor of every variant. `detectors.weights.compatibility`, which writes the file, would load NumPy."""
    stored: dict[str, Any] = json.loads(SHAPES.read_text(encoding="utf-8"))
    return stored


def _describe_model(name: str) -> dict[str, Any]:
    settings = resolve({"model": name}).settings
    return {
        "model": name,
        "family": find_family(name),
        "parameters": sum(prod(shape) for shape in _shapes()[name]["tensors"].values()),
        "image_size": list(get_image_size(name)),
        "batch_size": settings.batch_size,
        "epochs": settings.epochs,
        "optimizer": settings.optimizer,
        "learning_rate": settings.learning_rate,
    }


# The page of a family of detectors: its docstring, its settings with their meaning, and where its variants differ.


def list_summaries() -> dict[str, str]:
    return FAMILIES.summaries()


def build_page(family: str) -> str:
    """Markdown."""
    lines = [f"# {family}", "", FAMILIES.page(family), "", "## Variants", ""]
    for variant in list_families()[family]:
        said = ", ".join(f"`{name}` {_in_cell(value)}" for name, value in list_changed_settings(variant).items())
        lines.append(f"* `{variant}`: {said}." if said else f"* `{variant}`: the settings below.")
    lines += ["", "## Settings", "", f'`create_model("{list_families()[family][0]}", num_classes=3, …)` changes them.', ""]
    lines += ["| setting | type | value | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{each.name}` | `{_in_text(each.kind)}` | `{_in_cell(each.default)}` | {_in_text(each.meaning)} |"
        for each in list_family_settings(family)
    ]
    return "\n".join(lines)


def _in_cell(value: Any) -> str:
    return _in_text(repr(value))


def _in_text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
