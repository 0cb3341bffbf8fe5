"""Write a settings file for a data set: unstall init PATH

Looks at the data and suggests a model, its image size, batch, epochs and room for boxes, each with its reason. Every setting
is in the file, with its meaning and range; what is not suggested stands there as a comment. Then: unstall train, which
uses ./unstall.toml.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from unstall.cli import TrainingCommand, data_format_options, json_option


@click.command("init", cls=TrainingCommand, help=__doc__)
@click.argument("path")
@click.option(
    "--out", default="unstall.toml", show_default=True, metavar="FILE", help="The file; one that is there is not overwritten."
)
@data_format_options
@json_option("what was suggested")
def command(path: str, out: str, format_name: str | None, label_map: str | None, json_target: str | None) -> None:
    from unstall.base.console import show_progress
    from unstall.base.errors import InvalidInputError
    from unstall.base.formatting import describe_data_set
    from unstall.config import toml_file
    from unstall.config.sources import get_recipe
    from unstall.data.formats import read
    from unstall.planning.autoconfig import suggest
    from unstall.report import json
    from unstall.sensors.device import DeviceSampler
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    if resolve_path(out).exists():
        raise InvalidInputError(f"'{out}' is there already, and is not overwritten. Another name: --out FILE")
    with show_progress() as progress:
        data = read(path, format_name, progress, label_map)
    holds = describe_data_set(len(data.examples), data.box_count, len(data.classes))
    if not data.examples or not data.classes or not data.box_count:
        look = f" `unstall data check {shlex.quote(path)}` says why." if data.findings else ""
        raise InvalidInputError(f"'{path}' has {holds}: there is nothing to learn.{look}")
    suggested = suggest(data, _plain_path(path), has_card=bool(DeviceSampler().sample(set())))
    if label_map is not None:
        suggested.add("label_map", _plain_path(label_map))
    named = "" if out == toml_file.CONFIG else f" --config {shlex.quote(out)}"
    head = f"Settings for {path} ({data.format}): {holds}.\nTrain by them: unstall train{named}"
    recipe = get_recipe(suggested.values["model"])
    _write(resolve_path(out), toml_file.format_setting(suggested.values, suggested.why, head, recipe))
    plain = {
        "file": out,
        "settings": suggested.values,
        "why": suggested.why,
        "images": len(data.examples),
        "classes": list(data.classes),
    }
    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        _show(plain)


def _plain_path(path: str) -> str:
    """From the root, so that it holds wherever the training is begun; without `..`, which only reads badly."""
    from unstall.storage import is_bucket, resolve_path

    if is_bucket(path):
        return str(resolve_path(path))
    return str(Path(path).resolve() if ".." in Path(path).parts else Path(path).absolute())


def _write(out: Path, text: str) -> None:
    from unstall.base.errors import InvalidInputError

    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidInputError(f"Cannot write '{out}': {error.strerror}.") from None


def _show(plain: dict[str, Any]) -> None:
    from unstall.base.console import create_console
    from unstall.report.terminal.settings import show_suggested

    show_suggested(plain, create_console())
