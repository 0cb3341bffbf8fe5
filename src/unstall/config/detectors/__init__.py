"""The families of detectors with their settings and variants, free of Keras and NumPy.

A family is a file of this folder: its docstring is the page, a frozen dataclass holds its settings, each field with its meaning,
and `VARIANTS` maps names to settings. Its network is the file of the same name in `unstall.detectors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry
from unstall.base.suggestions import did_you_mean

FAMILIES = Registry(__name__, "family of detectors", exclude=("defaults", "ranges"))
ROWS = "tuple[tuple[float, ...], ...]"  # the kind of settings that have a list for each level


class DetectorSetting(NamedTuple):
    """A field of a family's settings."""

    name: str
    kind: str  # its annotation
    default: Any
    meaning: str


@cache
def families() -> dict[str, tuple[str, ...]]:
    """The name of each family, and its variants."""
    return {family: tuple(variants_of(family)) for family in FAMILIES.names()}


def variants_of(family: str) -> Mapping[str, Any]:
    """Names and settings."""
    found: Mapping[str, Any] = FAMILIES.module(family).VARIANTS
    return found


def variants() -> tuple[str, ...]:
    return tuple(name for names in families().values() for name in names)


def family_of(variant: str) -> str:
    for family, names in families().items():
        if variant in names:
            return family
    raise InvalidInputError(
        f"There is no detector '{variant}'.{did_you_mean(variant, variants())} Detectors: {', '.join(variants())}."
    )


def family_settings(family: str) -> list[DetectorSetting]:
    """What can be set of the detectors of a family, in the order of the dataclass."""
    published = next(iter(variants_of(family).values()))
    return [DetectorSetting(each.name, str(each.type), each.default, each.metadata["meaning"]) for each in fields(published)]


def settings_of(variant: str, **changes: Any) -> Any:
    """The settings of that variant, with changes. Lists are taken as tuples; where a level has a list of its own, a number alone
    is one of one: `anchor_sizes = [8, 16, 32, 64, 128]`."""
    settings = variants_of(family_of(variant))[variant]
    known = {field.name: str(field.type) for field in fields(settings)}
    for name in changes:
        if name not in known:
            raise InvalidInputError(
                f"{variant} has no setting '{name}'.{did_you_mean(name, known)} Settings: {', '.join(known)}."
            )
    return replace(settings, **{name: _as_rows(_as_tuple(value), known[name]) for name, value in changes.items()})


def changed_settings(variant: str) -> dict[str, Any]:
    """The settings in which a variant differs from the defaults of its family."""
    settings = settings_of(variant)
    return {each.name: value for each in fields(settings) if (value := getattr(settings, each.name)) != each.default}


def image_size(variant: str) -> tuple[int, int]:
    """Height and width that it sees, if nobody says otherwise."""
    size: tuple[int, int] = settings_of(variant).image_size
    return size


def _as_rows(value: Any, kind: str) -> Any:
    if kind != ROWS or not isinstance(value, tuple):
        return value
    return tuple((row,) if isinstance(row, int | float) and not isinstance(row, bool) else row for row in value)


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list | tuple) else value
