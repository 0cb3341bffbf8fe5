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
from unstall.base.registry import Registry
from unstall.base.suggestions import did_you_mean

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


def recipe_of(variant: str) -> Recipe:
    found: Recipe = FAMILIES.module(family_of(variant)).RECIPES[variant]
    return found


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
