"""The families of detectors with their settings and variants, free of Keras and NumPy.

A family is a file of this folder: its docstring is the page, a frozen dataclass holds its settings, each field with its meaning,
`VARIANTS` maps names to settings, and `RECIPES` says how each variant is trained where nobody says otherwise. Its network is the
file of the same name in `unstall.detectors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, NamedTuple

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest
from unstall.base.registry import Registry

FAMILIES = Registry(__name__, "family of detectors", exclude=("defaults", "ranges"))
Optimizer = Literal["adamw", "sgd"]
Schedule = Literal["cosine", "step", "constant"]
ROWS = "tuple[tuple[float, ...], ...]"  # the kind of settings that have a list for each level


@dataclass(frozen=True)
class Recipe:
    """How a variant is trained: optimizer, rate and its course, as plain data.

    The published ones follow torchvision's, their rates brought to the batch of one card in proportion. The tiny ones were
    found by trial on the embedded shapes: `python -m benchmarks.learning` holds them to AP50 of 0.90 within ten minutes of two
    cores.
    """

    optimizer: Optimizer = "adamw"
    learning_rate: float = 2e-3  # after the warm-up
    batch_size: int = 8
    epochs: int = 26
    warmup_steps: int = 100  # the rate rises from 0 in so many
    lr_schedule: Schedule = "cosine"  # then falls to 0, in drops, or stays
    drops_at: tuple[float, ...] = ()  # shares of the training at which the rate drops
    weight_decay: float = 1e-4
    clip_norm: float = 10.0  # of all gradients together; 0: they are taken as they are
    ema_decay: float = 0.0  # weights are averaged over about 1 / (1 - ema_decay) steps; 0: they are not


class DetectorSetting(NamedTuple):
    """A field of a family's settings."""

    name: str
    kind: str  # its annotation
    default: Any
    meaning: str


@cache
def list_families() -> dict[str, tuple[str, ...]]:
    """The name of each family, and its variants."""
    return {family: tuple(list_family_variants(family)) for family in FAMILIES.names()}


def list_family_variants(family: str) -> Mapping[str, Any]:
    """Names and settings."""
    found: Mapping[str, Any] = FAMILIES.module(family).VARIANTS
    return found


def list_variants() -> tuple[str, ...]:
    return tuple(name for names in list_families().values() for name in names)


def find_family(variant: str) -> str:
    for family, names in list_families().items():
        if variant in names:
            return family
    raise InvalidInputError(
        f"There is no detector '{variant}'.{suggest_closest(variant, list_variants())} Detectors: {', '.join(list_variants())}."
    )


def get_recipe(variant: str) -> Recipe:
    found: Recipe = FAMILIES.module(find_family(variant)).RECIPES[variant]
    return found


def list_family_settings(family: str) -> list[DetectorSetting]:
    """What can be set of the detectors of a family, in the order of the dataclass."""
    published = next(iter(list_family_variants(family).values()))
    return [DetectorSetting(each.name, str(each.type), each.default, each.metadata["meaning"]) for each in fields(published)]


def create_settings(variant: str, **changes: Any) -> Any:
    """The settings of that variant, with changes. Lists are taken as tuples; where a level has a list of its own, a number alone
    is one of one: `anchor_sizes = [8, 16, 32, 64, 128]`."""
    settings = list_family_variants(find_family(variant))[variant]
    known = {field.name: str(field.type) for field in fields(settings)}
    for name in changes:
        if name not in known:
            raise InvalidInputError(
                f"{variant} has no setting '{name}'.{suggest_closest(name, known)} Settings: {', '.join(known)}."
            )
    return replace(settings, **{name: _as_rows(_as_tuple(value), known[name]) for name, value in changes.items()})


def list_changed_settings(variant: str) -> dict[str, Any]:
    """The settings in which a variant differs from the defaults of its family."""
    settings = create_settings(variant)
    return {each.name: value for each in fields(settings) if (value := getattr(settings, each.name)) != each.default}


def get_image_size(variant: str) -> tuple[int, int]:
    """Height and width that it sees, if nobody says otherwise."""
    size: tuple[int, int] = create_settings(variant).image_size
    return size


def _as_rows(value: Any, kind: str) -> Any:
    if kind != ROWS or not isinstance(value, tuple):
        return value
    return tuple((row,) if isinstance(row, int | float) and not isinstance(row, bool) else row for row in value)


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list | tuple) else value
