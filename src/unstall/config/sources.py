"""Where settings come from: what holds without them < the recipe of the model < a settings file < options. Later ones win.

Nothing heavy is loaded: what is wrong is refused at once, before any framework starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import find_closest_name
from unstall.config import toml_file
from unstall.config.aliases import OLD_AUGMENTATIONS, OLD_DETECTOR_NAMES, find_setting
from unstall.config.settings import Settings, apply_changes, as_plain, from_plain
from unstall.data.augment.names import NAMED as AUGMENTATIONS
from unstall.storage.urls import refuse_unset, resolve_path, split_url

PATHS = ("data", "label_map", "val_data", "weights", "cache_dir")
OWN_OF_THE_RUN = ("precision", "remat")  # settings of a detector that are the run's, too: one place says them
# What every recipe says.
OF_RECIPES = (
    "optimizer", "learning_rate", "batch_size", "epochs", "warmup_steps", "weight_decay", "clip_norm", "lr_schedule", "ema_decay",
)  # fmt: skip
# The recipes of the tiny variants are for so many embedded shapes, which have few boxes and fit into memory.
OF_THE_SHAPES = {"synthetic_images": 4000, "max_boxes_per_image": 10, "cache_bytes": 2**30}
# What a run that goes on may be given anew. With others it would be another run: its checkpoints would not fit, or mean less.
CHANGEABLE = (
    "epochs", "learning_rate", "weight_decay", "clip_norm", "lr_schedule", "lr_milestones", "micro_batch_size", "precision",
    "remat", "num_workers", "eval_interval", "patience", "num_input_workers", "prefetch_bytes", "cache_bytes", "cache_dir",
    "max_bad_fraction", "checkpoint_interval_s", "checkpoint_interval_steps", "max_checkpoints", "tensorboard", "max_restarts",
)  # fmt: skip


@dataclass(frozen=True)
class ResolvedSettings:
    settings: Settings
    sources: Mapping[str, str]  # each name to where its value came from: '', 'recipe', 'unstall.toml:12', '--epochs'

    def as_plain(self) -> dict[str, Any]:
        values = as_plain(self.settings)
        return {"settings": values, "sources": {name: self.sources.get(name, "") or "default" for name in values}}


def resolve(options: Mapping[str, Any], file: str | None = None) -> ResolvedSettings:
    """`options` are those that were given, by the names of settings."""
    in_file, places = toml_file.read(file) if file else ({}, {})
    in_file = {name: _absolute(name, value, resolve_path(file or ".").resolve().parent) for name, value in in_file.items()}
    from_options = {name: _absolute(name, value, Path.cwd()) for name, value in options.items()}
    model = from_options.get("model", in_file.get("model", Settings.model))
    is_on_shapes = model.endswith("_tiny") and "data" not in {*from_options, *in_file}
    layers: list[tuple[Mapping[str, Any], Callable[[str], str]]] = [
        (
            {**get_recipe(model, from_options.get("epochs", in_file.get("epochs"))), **(OF_THE_SHAPES if is_on_shapes else {})},
            lambda name: f"recipe of {model}",
        ),
        (in_file, lambda name: places[name]),
        (from_options, lambda name: f"--{name.partition('.')[0].replace('_', '-')}"),
    ]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer, place in layers:
        for name, value in layer.items():
            values[name] = {**values.get(name, {}), **value} if isinstance(value, Mapping) else value
            sources[name] = place(name)
            if isinstance(value, Mapping):
                sources |= {f"{name}.{inner}": place(f"{name}.{inner}") for inner in value}
    resolved = ResolvedSettings(with_backend(from_plain(values)), sources)
    refuse_unfit(resolved.settings, {name: place for name, place in sources.items() if name in places})
    return resolved


def with_backend(settings: Settings) -> Settings:
    """Several workers run on one backend alone: where nobody said which, it is that one; another is refused."""
    from unstall.backends import choose_backend_for

    return apply_changes(settings, {"backend": choose_backend_for(settings.backend, settings.num_workers)})


def get_recipe(model: str, epochs: int | None = None) -> dict[str, Any]:
    """What trains this detector well, by the names of settings. A model that is not there is refused.

    The rate drops at shares of the run, so with other `epochs` it drops elsewhere.
    """
    from unstall.config import detectors

    recipe = detectors.get_recipe(model)
    values = {name: getattr(recipe, name) for name in OF_RECIPES}
    if recipe.drops_at:
        values["lr_milestones"] = tuple(round(share * (epochs or recipe.epochs)) for share in recipe.drops_at)
    return values


def refuse_unfit(settings: Settings, places: Mapping[str, str] = MappingProxyType({})) -> None:
    """Names within values that need no framework to be judged: of the model, its settings, the format. `places` are those in a
    file."""
    from unstall.config.detectors import find_family, list_family_settings
    from unstall.data.formats import FORMATS

    def at(name: str) -> str:
        return f"{places[name]}: " if name in places else ""

    kinds = {each.name: each.kind for each in list_family_settings(find_family(settings.model))}
    for name, value in settings.detector.items():
        try:
            _refuse_of_detector(settings.model, name, value, kinds)
        except InvalidInputError as wrong:
            raise InvalidInputError(f"{at(f'detector.{name}')}detector: {wrong}") from None
    for name in settings.augmentations:
        if name not in AUGMENTATIONS:
            meant = f"{suggest_nearest(name, list(AUGMENTATIONS))} Expected some of: {', '.join(AUGMENTATIONS)}."
            raise InvalidInputError(f"{at('augmentations')}augmentations: there is no '{name}'.{meant}")
    if settings.format is not None and settings.format not in FORMATS.names():
        expected = f"expected one of {', '.join(FORMATS.names())}. Received: {settings.format!r}"
        raise InvalidInputError(f"{at('format')}format: {expected}")


def _refuse_of_detector(model: str, name: str, value: Any, kinds: Mapping[str, str]) -> None:
    from unstall.config.detectors import ranges

    known = [each for each in kinds if each not in {"num_classes", *OWN_OF_THE_RUN}]
    if name == "num_classes":
        raise InvalidInputError("'num_classes' is counted in the data; it cannot be set.")
    if name in OWN_OF_THE_RUN:
        raise InvalidInputError(f"'{name}' is a setting of the run. Write: --{name}")
    if name not in known:
        raise InvalidInputError(f"{model} has no setting '{name}'.{suggest_nearest(name, known)} Settings: {', '.join(known)}.")
    if name == "image_size":
        ranges.check_image_size(SimpleNamespace(image_size=value))
    ranges.check_kind(name, kinds[name], value)


def resolve_resumed(before: Settings, options: Mapping[str, Any]) -> Settings:
    """The settings of a run that goes on, with what was asked to be other."""
    now = {name: _absolute(name, value, Path.cwd()) for name, value in options.items()}
    values = as_plain(before)
    requested = as_plain(from_plain({**values, **now}))
    for name in now:
        if name not in CHANGEABLE and requested[name] != values[name]:
            raise InvalidInputError(
                f"--{name.replace('_', '-')}: a run that goes on keeps its {name} ({values[name]!r}). Expected one of "
                f"{', '.join(CHANGEABLE)}. For another {name}, begin a new run, with --weights of this one if you like."
            )
    return with_backend(from_plain(requested))


def suggest_nearest(name: str, known: list[str]) -> str:
    meant = OLD_AUGMENTATIONS.get(name) or OLD_DETECTOR_NAMES.get(name) or find_setting(name, ()).removeprefix("detector.")
    if meant in known:
        return f" Use '{meant}'."
    near = find_closest_name(name, known)
    return f" Did you mean '{near}'?" if near else ""


def _absolute(name: str, value: Any, folder: Path) -> Any:
    """A path is meant from where it is written: the file's folder, or where one stands. A run may go on elsewhere.

    A variable that is not set stays as it is written, so that it can be named; in a place in a bucket it is refused at once.
    """
    if name not in PATHS or not isinstance(value, str):
        return value
    expanded = os.path.expandvars(os.path.expanduser(value))  # noqa: PTH111 (with the variables, as one)
    if not expanded or expanded.startswith("$"):
        return expanded
    if "://" in expanded:
        refuse_unset(expanded)
        split_url(expanded)
        return expanded
    whole = folder / expanded
    return str(whole.resolve() if ".." in whole.parts else whole)  # resolved only then: a link's own name is the user's
