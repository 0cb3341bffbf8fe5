"""What a weights file of Unstall says of itself: which detector it is of, by which settings, and the names of the classes.

The file is a safetensors file. Its tensors have torchvision's names and PyTorch's layout rather than ours: the same file loads
into torchvision as it is, whatever reads safetensors shows it rightly, and to turn the axes costs less than to read them.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from unstall.base.errors import InvalidInputError
from unstall.config.aliases import update_value
from unstall.detectors.weights import compatibility
from unstall.detectors.weights.compatibility import find_best_fit
from unstall.detectors.weights.reader import Checkpoint, read

VERSION = "1"
Holds = Literal["detector", "headless", "backbone"]


@dataclass(frozen=True)
class Description:
    variant: str  # empty for a detector of settings that are no variant's
    detector: str = ""  # the file of detectors/; empty: that of the variant
    settings: dict[str, Any] = field(default_factory=dict)  # what differs from the variant's, or all of them
    class_names: tuple[str, ...] = ()  # empty: not known
    source: str = ""  # the name of the file that they were imported from
    holds: Holds = "detector"  # headless: all but the outputs of the classes; what is not there begins fresh
    trained_on: dict[str, Any] = field(default_factory=dict)  # as training/evaluate/train_overlap.py writes it; empty: not known

    def as_metadata(self) -> dict[str, str]:
        return {
            "unstall": VERSION,
            "variant": self.variant,
            "detector": self.detector,
            "settings": json.dumps(self.settings),
            "class_names": json.dumps(self.class_names),
            "source": self.source,
            "holds": self.holds,
            **({"trained_on": json.dumps(self.trained_on)} if self.trained_on else {}),
        }

    def as_plain(self) -> dict[str, Any]:
        return {
            "variant": self.variant,
            "detector": self.detector,
            "settings": self.settings,
            "class_names": list(self.class_names),
            "source": self.source,
            "holds": self.holds,
            "trained_on": {name: value for name, value in self.trained_on.items() if name not in {"train", "held_out"}},
        }


def read_description(path: Path | str) -> tuple[Checkpoint, Description]:
    """An Unstall weights file: its tensors, and what it says of itself."""
    checkpoint = read(path)
    if checkpoint.written_by != "Unstall":
        raise InvalidInputError(
            f"'{path}' was written by {checkpoint.written_by}, and does not say which detector it is of. "
            f"Import it first: unstall weights import {shlex.quote(str(path))}"
        )
    return checkpoint, create_description(checkpoint)


def create_description(checkpoint: Checkpoint) -> Description:
    said = checkpoint.metadata
    if said.get("unstall") != VERSION:
        raise InvalidInputError(
            f"'{checkpoint.path}': expected version {VERSION} of weights files. Received: {said.get('unstall')!r:.40}"
        )
    settings, names = (_parsed(checkpoint.path, said, key) for key in ("settings", "class_names"))
    if not isinstance(settings, dict):
        raise _wrong(checkpoint.path, "settings", "an object", settings)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _wrong(checkpoint.path, "class_names", "a list of names", names)
    holds = said.get("holds")
    if holds not in get_args(Holds):
        raise _wrong(checkpoint.path, "holds", " or ".join(get_args(Holds)), holds)
    trained_on = _parsed(checkpoint.path, said, "trained_on") or {}
    if not isinstance(trained_on, dict):
        raise _wrong(checkpoint.path, "trained_on", "an object", trained_on)
    return Description(
        variant=said.get("variant", ""),
        detector=said.get("detector", ""),
        settings={key: _in_tuples(value) for key, value in update_value("detector", settings).items()},
        class_names=tuple(names),
        source=said.get("source", ""),
        holds=cast(Holds, holds),
        trained_on=trained_on,
    )


def _parsed(path: Path, said: dict[str, str], key: str) -> Any:
    try:
        return json.loads(said.get(key, "null"))
    except (ValueError, RecursionError):
        raise _wrong(path, key, "JSON", said.get(key)) from None


def _wrong(path: Path, key: str, expected: str, received: object) -> InvalidInputError:
    return InvalidInputError(f"'{path}', metadata '{key}': expected {expected}. Received: {str(received)[:80]!r}")


def _in_tuples(value: Any) -> Any:
    """JSON has lists only; settings have tuples only."""
    return tuple(_in_tuples(each) for each in value) if isinstance(value, list) else value


# What is in a file of weights, as plain data.


SHOWN = 3  # variants


def describe_file(path: Path | str) -> dict[str, Any]:
    checkpoint = read(path)
    tensors = checkpoint.tensors
    fits = {name: find_best_fit(tensors, known.shapes) for name, known in compatibility.list_known_variants().items()}
    nearest = sorted(fits, key=lambda name: -len(fits[name].taken))[:SHOWN]
    return {
        "file": str(path),
        "written_by": checkpoint.written_by,
        "description": create_description(checkpoint).as_plain() if checkpoint.written_by == "Unstall" else None,
        "tensors": [
            {"name": name, "shape": list(tensor.shape), "kind": tensor.kind} for name, tensor in checkpoint.tensors.items()
        ],
        "numbers": sum(tensor.count for tensor in checkpoint.tensors.values()),
        "bytes": sum(tensor.bytes for tensor in checkpoint.tensors.values()),
        "fits": [
            {"variant": name, "matched": len(fits[name].taken), "total": fits[name].wanted, "as": fits[name].what}
            for name in nearest
            if fits[name].taken
        ],
        "notes": list(checkpoint.notes),
    }
