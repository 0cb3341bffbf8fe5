"""SSD, RetinaNet and Faster R-CNN, in Keras layers and `keras.ops` alone: the same code on TensorFlow, JAX and PyTorch.

A family is a file of this folder that holds `VARIANTS`, a dict of names and settings, and one class of `Detector`. Which there
are is read from the files, so that a list of names, or a wrong name, needs no framework.

    detector = build("retinanet_resnet50_fpn", classes=3, image_px=(640, 960))
"""

from __future__ import annotations

import ast
import difflib
import importlib
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from unstall.detectors.detector import Detector

FOLDER = Path(__file__).parent
ROWS = "tuple[tuple[float, ...], ...]"  # the kind of settings that have a list for each level
# A run's precision, as Keras calls it.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


@cache
def families() -> dict[str, tuple[str, ...]]:
    """The name of each family's file, and its variants."""
    found = {path.stem: _names_in(ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*.py"))}
    return {family: names for family, names in found.items() if names}


def variants() -> tuple[str, ...]:
    return tuple(name for names in families().values() for name in names)


def family_of(variant: str) -> str:
    for family, names in families().items():
        if variant in names:
            return family
    raise InvalidInputError(
        f"There is no detector '{variant}'.{_nearest(variant, variants())} Detectors: {', '.join(variants())}."
    )


def settings_of(variant: str, **changes: Any) -> Any:
    """The settings of that variant, with changes. Lists are taken as tuples; where a level has a list of its own, a number alone
    is one of one: `anchor_sizes_px = [8, 16, 32, 64, 128]`."""
    settings = _module(family_of(variant)).VARIANTS[variant]
    known = {field.name: str(field.type) for field in fields(settings)}
    for name in changes:
        if name not in known:
            raise InvalidInputError(f"{variant} has no setting '{name}'.{_nearest(name, known)} Settings: {', '.join(known)}.")
    return replace(settings, **{name: _as_rows(_as_tuple(value), known[name]) for name, value in changes.items()})


def build(variant: str, **changes: Any) -> Detector:
    """A detector of that variant with fresh weights; `changes` are settings."""
    settings = settings_of(variant, **changes)
    made: Detector = detector_class(family_of(variant))(settings, name=variant)
    return made


def detector_class(family: str) -> Any:
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


def _names_in(tree: ast.Module) -> tuple[str, ...]:
    """The keys of `VARIANTS = {…}`; nothing where there is none."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if (
            isinstance(target, ast.Name)
            and target.id == "VARIANTS"
            and isinstance(value := getattr(node, "value", None), ast.Dict)
        ):
            return tuple(key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return ()


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def _as_rows(value: Any, kind: str) -> Any:
    if kind != ROWS or not isinstance(value, tuple):
        return value
    return tuple((row,) if isinstance(row, int | float) and not isinstance(row, bool) else row for row in value)


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list | tuple) else value
