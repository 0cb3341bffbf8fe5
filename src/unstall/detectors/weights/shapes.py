"""The names and shapes of every variant's tensors, kept in a file: to say what a checkpoint is of then needs no framework.

python -m unstall.detectors.weights.shapes      writes shapes.json again, from the detectors; takes a minute
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from unstall.detectors.weights.compatibility import Shape

FILE = Path(__file__).with_name("shapes.json")


@dataclass(frozen=True)
class KnownVariant:
    """A variant as it is published."""

    classes: int
    shapes: dict[str, Shape]


@cache
def known_variants() -> dict[str, KnownVariant]:
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        variant: KnownVariant(entry["classes"], {key: tuple(shape) for key, shape in entry["tensors"].items()})
        for variant, entry in stored.items()
    }


def parameters(variant: str) -> int:
    """Numbers that a variant has as it is published, whatever the data is."""
    return sum(prod(shape) for shape in known_variants()[variant].shapes.values())


def of_variant(variant: str) -> dict[str, Any]:
    """What the file has to say of it."""
    from unstall.detectors import build
    from unstall.detectors.weights.layout import slots

    detector = build(variant)
    shapes = {key: list(slot.shape) for key, slot in slots(detector).items()}
    return {"classes": detector.settings.classes, "tensors": shapes}


def as_text(entries: dict[str, Any]) -> str:
    """A line for each tensor, so that a change shows as what it is."""
    blocks = []
    for variant, entry in entries.items():
        lines = ",\n".join(f"   {json.dumps(key)}: {json.dumps(shape)}" for key, shape in entry["tensors"].items())
        blocks.append(f' {json.dumps(variant)}: {{"classes": {entry["classes"]}, "tensors": {{\n{lines}\n }}}}')
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main() -> None:
    from unstall.config.detectors import variants

    entries = {variant: of_variant(variant) for variant in variants()}
    FILE.write_text(as_text(entries), encoding="utf-8")
    print(f"{FILE.name}: {', '.join(entries)}")


if __name__ == "__main__":
    main()
