"""SSD, RetinaNet and Faster R-CNN, in Keras layers and `keras.ops` alone: the same code on TensorFlow, JAX and PyTorch.

A family is a file of this folder that holds one class of `Detector`. Its settings and variants are in the file of the same name
in `unstall.config.detectors`, so that a list of names, or a wrong name, needs no framework.

    detector = create_model("retinanet_resnet50_fpn", num_classes=3, image_size=(640, 960))
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unstall.base.errors import MissingDependencyError
from unstall.config.detectors import (
    FAMILIES,
    create_settings,
    find_family,
    get_image_size,
    list_changed_settings,
    list_families,
    list_family_settings,
    list_variants,
)
from unstall.config.sources import resolve

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

# A run's precision, as Keras calls it.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def create_model(variant: str, **changes: Any) -> Detector:
    """A detector of that variant with fresh weights; `changes` are settings."""
    settings = create_settings(variant, **changes)
    made: Detector = load_detector_class(find_family(variant))(settings, name=variant)
    return made


def load_detector_class(family: str) -> Any:
    from unstall.detectors.detector import Detector

    module = _module(family)
    own = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Detector) and each.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise TypeError(f"{module.__name__}: expected one class of Detector. Received: {[each.__name__ for each in own]}")
    return own[0]


def _module(family: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__name__}.{family}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("unstall"):
            raise
        wanted = f"Detectors need the package {missing.name}. Install Keras with a backend: pip install 'unstall[jax]'"
        raise MissingDependencyError(f"{wanted} (or 'unstall[tensorflow]', 'unstall[torch]').") from missing


# The detectors that can be trained, as plain data. The list needs no framework.


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
