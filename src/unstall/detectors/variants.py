"""The detectors that there are: each file of this folder that has `VARIANTS`. The folder is the registry."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from unstall.detectors.detector import Detector
from unstall.errors import WrongInput


@cache
def families() -> dict[str, ModuleType]:
    """The files that hold a detector, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)]) if not info.ispkg)
    modules = {name: importlib.import_module(f"unstall.detectors.{name}") for name in names if name != "variants"}
    return {name: module for name, module in modules.items() if hasattr(module, "VARIANTS")}


@cache
def variants() -> dict[str, tuple[str, Any]]:
    """Each variant's name to its family and its settings."""
    return {name: (family, settings) for family, module in families().items() for name, settings in module.VARIANTS.items()}


def detector_class(family: str) -> type[Detector]:
    if family not in families():
        raise WrongInput(f"There is no detector '{family}'. Detectors: {', '.join(families())}.")
    module = families()[family]
    (found,) = (
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Detector) and each.__module__ == module.__name__
    )
    return found


def family_of(detector: Detector) -> str:
    return type(detector).__module__.rpartition(".")[2]


def settings_of(variant: str, **changes: Any) -> Any:
    if variant not in variants():
        near = difflib.get_close_matches(variant, variants(), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise WrongInput(f"There is no variant '{variant}'.{hint} Variants: {', '.join(variants())}.")
    return replace(variants()[variant][1], **changes)


def build(variant: str, **changes: Any) -> Detector:
    """A detector with fresh weights: `build("retinanet_tiny", classes=5)`."""
    settings = settings_of(variant, **changes)
    return detector_class(variants()[variant][0])(settings, name=variant)  # type: ignore[call-arg]
