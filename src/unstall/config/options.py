"""The options of `unstall train`, `preflight` and `lr-find`: one for each setting, made from `settings.py`. And the way
back, from settings to a command line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from unstall.base.errors import InvalidInputError
from unstall.config import settings, toml_file
from unstall.config.command import Command
from unstall.config.detectors import ranges
from unstall.config.settings import get_kind
from unstall.config.sources import OF_RECIPES, PATHS
from unstall.config.toml_file import CONFIG
from unstall.storage import is_bucket

if TYPE_CHECKING:
    from unstall.config.sources import ResolvedSettings

CONFIG_HELP = f"Settings file (TOML); `unstall init` writes one. Options override it. Defaults to ./{CONFIG} if that exists."
IMAGE_SIZE_HELP = "Size of the images that the detector sees, in pixels: one number for a square. [the model's own]"


def add_setting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--config`, `--no-config` and an option for each setting. They arrive as keywords by those names, None if
    not given. `find_config` says which file is meant."""
    for name in reversed(settings.list_names()):
        function = _option(name)(function)
        if name == "detector":
            function = click.option("--image-size", metavar="N|HEIGHT,WIDTH", help=IMAGE_SIZE_HELP)(function)
    function = click.option("--no-config", is_flag=True, help=f"Ignore ./{CONFIG}.")(function)
    return click.option("--config", metavar="FILE", help=CONFIG_HELP)(function)


def find_config(config: str | None, no_config: bool) -> str | None:
    """The settings file: the one that was named, else ./unstall.toml if it is there, which is said before anything else; and so
    are settings in it that have another name now."""
    if config is not None and no_config:
        raise InvalidInputError("--no-config: expected without --config, which names a settings file.")
    if config is None and not no_config and is_config_here():
        click.echo(f"Using the settings in ./{CONFIG}. Options override them; --no-config ignores the file.", err=True)
        config = CONFIG
    for note in toml_file.list_notes(config) if config is not None else ():
        click.echo(note, err=True)
    return config


def is_config_here() -> bool:
    return Path(CONFIG).is_file()


def collect_explicit_settings(keywords: dict[str, Any]) -> dict[str, Any]:
    """The settings among a command's keywords that were given, in their own types."""
    values = {}
    for name in settings.list_names():
        typed = keywords[name]
        if typed is None or (name == "detector" and not typed):
            continue
        try:
            values[name] = settings.check_value(name, _parsed(name, typed))
        except InvalidInputError as wrong:
            raise InvalidInputError(f"--{name.replace('_', '-')}: {str(wrong).removeprefix(f'{name}: ')}") from None
    if (size := keywords.get("image_size")) is not None:
        values["detector"] = {**_without_size(values.get("detector", {})), "image_size": _image_size(size)}
    return values


def _image_size(typed: str) -> list[int]:
    """'640' or '480,640'."""
    sides = [_number(part.strip(), int) for part in typed.replace("x", ",").split(",")]
    try:
        ranges.check_image_size(SimpleNamespace(image_size=sides * 2 if len(sides) == 1 else sides))
    except InvalidInputError as wrong:
        raise InvalidInputError(f"--image-size: {str(wrong).removeprefix('image_size: ')}") from None
    return sides * 2 if len(sides) == 1 else sides


def _without_size(detector: dict[str, Any]) -> dict[str, Any]:
    if "image_size" in detector:
        raise InvalidInputError("--image-size: expected once. --detector image_size=… gives it, too.")
    return detector


class GroupedCommand(Command):
    """Help with the settings under the headings that `settings.py` has."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {parameter.name: row for parameter in self.get_params(ctx) if (row := parameter.get_help_record(ctx))}
        own = [row for name, row in rows.items() if name not in {*settings.list_names(), "image_size"}]
        with formatter.section("Options"):
            formatter.write_dl(own)
        for heading, names in toml_file.list_groups().items():
            with formatter.section(f"Settings: {heading}"):
                shown = [*names, "image_size"] if "detector" in names else names
                formatter.write_dl([rows[name] for name in shown])


def _option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    kind, _ = settings.get_kind(name)
    dashed = name.replace("_", "-")
    if kind is bool:
        return click.option(f"--{dashed}/--no-{dashed}", name, default=None, help=_help(name))
    if name == "detector":
        return click.option(f"--{dashed}", name, multiple=True, metavar="NAME=VALUE", help=_help(name))
    return click.option(f"--{dashed}", name, metavar=_metavar(name, kind), help=_help(name))


def _metavar(name: str, kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "A,B,…"
    if kind is str:
        return "TEXT" if name in {"model", "format"} else "PATH"
    return "BYTES" if name.endswith("_bytes") else "N" if kind is int else "X"


def _help(name: str) -> str:
    """What it means, and what holds where nobody says it."""
    if name in OF_RECIPES:
        return f"{toml_file.get_meaning(name)} [the model's recipe]"
    usual = toml_file.get_default(name)
    shown = ",".join(map(str, usual)) if isinstance(usual, tuple) else "" if usual is None or usual == {} else str(usual)
    if isinstance(usual, bool) or not shown:
        return toml_file.get_meaning(name)
    return f"{toml_file.get_meaning(name)} [{shown}]"


def _parsed(name: str, typed: Any) -> Any:
    """What was typed, as a value of the setting's kind. What is of no such kind stays text, and is refused as that."""
    kind, _ = settings.get_kind(name)
    if name == "detector":
        return _pairs(typed)
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in typed.split(",") if part.strip()]
        return [_number(part, get_args(kind)[0]) for part in parts]
    if isinstance(typed, str) and kind in {int, float}:
        return toml_file.parse_bytes(name, typed) if name.endswith("_bytes") else _number(typed, kind)
    return typed


def _number(text: str, kind: type) -> Any:
    if kind not in {int, float}:
        return text
    for wanted in (int, float):
        try:
            return wanted(text.replace("_", ""))
        except ValueError:
            continue
    return text


def _pairs(typed: Sequence[str]) -> dict[str, Any]:
    """`box_loss=giou`, `stem_channels=32`, `aspect_ratios=[0.5, 1.0]`; a value may also be written as TOML has it."""
    values = {}
    for pair in typed:
        name, equals, written = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"expected NAME=VALUE, as in box_loss=giou. Received: {pair!r}")
        values[name.strip()] = _value(written.strip())
    return values


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return [_value(part.strip()) for part in text.split(",")] if "," in text else text


# The way back: settings as the options of a command line, which `unstall train` on another machine reads as they were meant here.


OF_THE_OTHER_MACHINE = ("cache_dir",)  # a folder there, not here


def collect_requested(resolved: ResolvedSettings) -> dict[str, Any]:
    """What somebody has asked for. The recipe of the model is the same on the other machine."""
    return {
        name: getattr(resolved.settings, name) for name, source in resolved.sources.items() if not source.startswith("recipe of")
    }


def format_arguments(values: Mapping[str, Any]) -> list[str]:
    """By the names of settings; `collect_explicit_settings` gives the same values again."""
    return [word for name, value in values.items() for word in _words_of(name, value)]


def _words_of(name: str, value: Any) -> list[str]:
    dashed = name.replace("_", "-")
    if value is None:
        return []
    if get_kind(name)[0] is bool:
        return [f"--{dashed}" if value else f"--no-{dashed}"]
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in (f"--{dashed}", f"{key}={toml_file.as_toml(each)}")]
    if isinstance(value, list | tuple):
        return [f"--{dashed}", ",".join(map(str, value))]
    return [f"--{dashed}", repr(value) if isinstance(value, float) else str(value)]


def refuse_local_paths(values: Mapping[str, Any]) -> None:
    """The job runs on a machine that has none of our files."""
    for name in PATHS:
        place = values.get(name)
        if name not in OF_THE_OTHER_MACHINE and isinstance(place, str) and not is_bucket(place):
            raise InvalidInputError(
                f"--{name.replace('_', '-')}: expected a place in a bucket, gs://BUCKET/NAME, as the job does not see "
                f"the files of this machine. Received: '{place}'. Copy it there: gcloud storage cp --recursive '{place}' gs://BUCKET/"
            )
