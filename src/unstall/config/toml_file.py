"""A settings file: TOML with the names of `settings.py`, each error with its file and line. `unstall init` writes one.

model = "retinanet_resnet50_fpn_v2"
epochs = 12
cache_bytes = "2GiB"

[detector]
image_size = [640, 960]
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import find_closest_name
from unstall.config import settings
from unstall.config.aliases import (
    OLD_DETECTOR_NAMES,
    OLD_NAMES,
    describe_renamed,
    describe_renamed_detector_setting,
    suggest_setting,
    update_value,
)
from unstall.storage import resolve_path

UNITS = {
    "": 1,
    "b": 1,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
CONFIG = "unstall.toml"  # as `unstall init` writes it; taken from the current folder where no other is named
MAX_BYTES = 2**20  # of a settings file
OF_THE_CLOUD = "cloud"  # a table that is for `unstall cloud submit`: where a job runs is no setting of a training


# --- reading ---


def read(path: Path | str) -> tuple[dict[str, Any], dict[str, str]]:
    """Names and values, each checked by itself; and of each the place where it stands, as 'unstall.toml:12'. What is in a table
    has a place of its own, as 'detector.image_size'."""
    path = resolve_path(path)
    text, stored = _stored(path)
    stored.pop(OF_THE_CLOUD, None)
    places: dict[str, str] = {}
    values: dict[str, Any] = {}
    for written, value in stored.items():
        place, name = f"{path}:{_line_of(written, text)}", OLD_NAMES.get(written, written)
        if name in values:
            raise InvalidInputError(f"{place}: '{written}' and {places[name]} set the same: '{name}'. Keep one of them.")
        _refuse_unknown(written, value, place)
        places[name] = place
        try:
            values[name] = settings.check_value(name, update_value(name, parse_bytes(name, value)))
        except InvalidInputError as wrong:
            raise InvalidInputError(f"{place}: {wrong}") from None
        if isinstance(value, dict):
            for inner in value:
                current = OLD_DETECTOR_NAMES.get(inner, inner) if name == "detector" else inner
                places[f"{name}.{current}"] = f"{path}:{_line_within(name, inner, text)}"
    return values, places


def list_notes(path: Path | str) -> list[str]:
    """A line for each setting of the file that has another name now: "unstall.toml:3: 'rate' is now 'learning_rate'."."""
    path = resolve_path(path)
    text, stored = _stored(path)
    found = [f"{path}:{_line_of(name, text)}: {note}" for name, value in stored.items() for note in describe_renamed(name, value)]
    detector = stored.get("detector")
    for name in detector if isinstance(detector, dict) else ():
        if note := describe_renamed_detector_setting(name):
            found.append(f"{path}:{_line_within('detector', name, text)}: {note}")
    return found


def _refuse_unknown(name: str, value: Any, place: str) -> None:
    """In a table that we do not have, SOLVER.BASE_LR say, the names are looked at, too."""
    is_known = (
        name in settings.list_names() or find_closest_name(name, settings.list_names()) == "detector"
    )  # which alone is a table
    inner = _names_within(name, value) if not is_known else []
    named = next((each for each in inner if suggest_setting(each, settings.list_names())), name)
    settings.refuse_unknown(OLD_NAMES.get(named, named), f"{place}: ")


def _names_within(name: str, value: Any) -> list[str]:
    """Of a table, and of the tables in it: MODEL.ROI_HEADS.NUM_CLASSES. Nothing of what is no table."""
    inner = value.items() if isinstance(value, dict) else ()
    return [each for key, item in inner for each in (*_names_within(f"{name}.{key}", item), f"{name}.{key}")]


def read_cloud(path: Path | str) -> tuple[dict[str, Any], str]:
    """The table [cloud], empty where there is none; and where it stands."""
    path = resolve_path(path)
    text, stored = _stored(path)
    place = f"{path}:{_line_of(OF_THE_CLOUD, text)}"
    table = stored.get(OF_THE_CLOUD, {})
    if not isinstance(table, dict):
        raise InvalidInputError(f"{place}: {OF_THE_CLOUD}: expected a table of names and values. Received: {table!r}")
    return table, place


def _stored(path: Path) -> tuple[str, dict[str, Any]]:
    text = _text_of(path)
    try:
        return text, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(_of_toml(path, text, error)) from None


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInputError(f"'{path}' is no settings file: expected at most {MAX_BYTES:,} bytes of TOML.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(
            f"Cannot read the settings file '{path}': {error.strerror}. `unstall init DATA` writes one."
        ) from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"'{path}' is no settings file: expected text in UTF-8.") from None


def _of_toml(path: Path, text: str, error: Exception) -> str:
    """'unstall.toml:7: Invalid value: epochs = twelve'. At the end of the file Python names no line."""
    message = re.match(r"(?P<what>.*?) \(at line (?P<line>\d+), column \d+\)", str(error))
    lines = text.splitlines() or [""]
    number = int(message["line"]) if message else len(lines)
    what = message["what"] if message else str(error).removesuffix(" (at end of document)")
    return f"{path}:{number}: this is not TOML: {what}. Received: {lines[min(number, len(lines)) - 1].strip()[:100]}"


def _line_of(name: str, text: str, otherwise: int = 1) -> int:
    """Where a setting of this name, or its table, begins."""
    begins = re.compile(rf"""\s*(\[\s*)?["']?{re.escape(name)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if begins.match(line)), otherwise)


def _line_within(table: str, name: str, text: str) -> int:
    """Where a name of a table stands: as table.name, below its heading, or in one line with it."""
    dotted = re.compile(rf"""\s*["']?{re.escape(table)}["']?\s*\.\s*["']?{re.escape(name)}["']?\s*=""")
    lines = text.splitlines()
    first = _line_of(table, text)
    below = first + _line_of(name, "\n".join(lines[first:]), 0)
    return next((number for number, line in enumerate(lines, 1) if dotted.match(line)), below)


def parse_bytes(name: str, value: Any) -> Any:
    """'2GiB' for a setting that is counted in bytes; anything else as it is."""
    if not name.endswith("_bytes") or not isinstance(value, str):
        return value
    written = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)\s*", value.lower())
    if written is None or written[2] not in UNITS:
        raise InvalidInputError(f"{name}: expected a number of bytes, as in 2GiB, 256MiB or 1000000. Received: {value!r}")
    return int(float(written[1]) * UNITS[written[2]])


# --- what the settings are, as the code has them ---


@cache
def list_groups() -> dict[str, tuple[str, ...]]:
    """The names of settings under their headings."""
    found: dict[str, list[str]] = {}
    for each in dataclasses.fields(settings.Settings):
        heading = each.metadata.get("heading") or list(found)[-1]
        found.setdefault(heading, []).append(each.name)
    return {heading: tuple(names) for heading, names in found.items()}


def get_meaning(name: str) -> str:
    return str(_field(name).metadata["meaning"])


def get_default(name: str) -> Any:
    return getattr(settings.Settings(), name)


def describe_allowed(name: str) -> str:
    """'1 to 65536', 'sgd or adamw'; empty where anything of the kind is."""
    kind, _ = settings.get_kind(name)
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    least, most = _field(name).metadata.get("least"), _field(name).metadata.get("most")
    if least is not None and most is not None:
        return f"{least:,} to {most:,}"
    return f"{least:,} or more" if least is not None else ""


def _field(name: str) -> dataclasses.Field[Any]:
    return next(each for each in dataclasses.fields(settings.Settings) if each.name == name)


# --- writing ---


def format_setting(chosen: Mapping[str, Any], why: Mapping[str, str], head: str, recipe: Mapping[str, Any] | None = None) -> str:
    """A file with every setting: those chosen as they are, the others with what holds without them, as comments."""
    usual = {**settings.as_plain(settings.Settings()), **(recipe or {})}
    lines = [_comment(line) for line in head.splitlines()]
    tables = []
    for heading, names in list_groups().items():
        lines += ["", f"# --- {heading} ---"]
        for name in names:
            if settings.get_kind(name)[0] not in _PLAIN and get_origin(settings.get_kind(name)[0]) not in {Literal, tuple}:
                tables += [
                    "",
                    f"# {get_meaning(name)}",
                    *_reason(name, why),
                    *_table(name, chosen.get(name), why, _image_px(str(chosen.get("model") or usual["model"]))),
                ]
                continue
            lines += ["", *_setting(name, chosen, why, usual[name])]
    return "\n".join([*lines, *tables]) + "\n"


_PLAIN = {bool, int, float, str}


def _setting(name: str, chosen: Mapping[str, Any], why: Mapping[str, str], usual: Any) -> list[str]:
    bounds = f" ({describe_allowed(name)})" if describe_allowed(name) else ""
    lines = [f"# {get_meaning(name)}{bounds}", *_reason(name, why)]
    if chosen.get(name) is not None:
        return [*lines, f"{name} = {as_toml(chosen[name])}"]
    return [*lines, f"# {name} = {as_toml(usual) if usual is not None else _of_none(name)}"]


def _reason(name: str, why: Mapping[str, str]) -> list[str]:
    return [_comment(f"here: {why[name]}")] if name in why else []


def _comment(text: str) -> str:
    """On one line, of characters that TOML allows there: a reason may quote what a stranger wrote."""
    return "# " + "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text).rstrip()


def _of_none(name: str) -> str:
    """What could stand there where there is nothing."""
    return '""' if settings.get_kind(name)[0] is str else "1"


def _image_px(model: str) -> list[int]:
    """As it is published."""
    from unstall.config.detectors import get_image_size

    return list(get_image_size(model))


def _table(name: str, values: Mapping[str, Any] | None, why: Mapping[str, str], image_size: list[int]) -> list[str]:
    rows = [
        line for key, value in (values or {}).items() for line in (*_reason(f"{name}.{key}", why), f"{key} = {as_toml(value)}")
    ]
    return [f"[{name}]", *rows] if rows else [f"# [{name}]", f"# image_size = {as_toml(image_size)}"]


def as_toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(as_toml(each) for each in value)}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which JSON may hold, and TOML may not
