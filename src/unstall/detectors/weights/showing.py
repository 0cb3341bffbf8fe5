"""What is in a file of weights, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unstall.detectors.weights import shapes
from unstall.detectors.weights.description import description_of
from unstall.detectors.weights.fit import best_fit
from unstall.detectors.weights.reading import read

SHOWN = 3  # variants


def seen(path: Path | str) -> dict[str, Any]:
    checkpoint = read(path)
    tensors = checkpoint.tensors
    fits = {name: best_fit(tensors, known.shapes) for name, known in shapes.known().items()}
    nearest = sorted(fits, key=lambda name: -len(fits[name].taken))[:SHOWN]
    return {
        "file": str(path),
        "written_by": checkpoint.written_by,
        "description": description_of(checkpoint).as_plain() if checkpoint.written_by == "Unstall" else None,
        "tensors": [
            {"name": name, "shape": list(tensor.shape), "kind": tensor.kind} for name, tensor in checkpoint.tensors.items()
        ],
        "numbers": sum(tensor.count for tensor in checkpoint.tensors.values()),
        "bytes": sum(tensor.bytes for tensor in checkpoint.tensors.values()),
        "fits": [
            {"variant": name, "taken": len(fits[name].taken), "of": fits[name].wanted, "as": fits[name].what}
            for name in nearest
            if fits[name].taken
        ],
        "notes": list(checkpoint.notes),
    }
