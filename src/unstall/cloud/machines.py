"""Machine types that can be rented, with their prices: `machines.json`, or a file of the user in its place (`--prices FILE`).

A price that is null is not known, and is said to be. A file is checked field by field; JSON, or TOML of the same names.
"""

from __future__ import annotations

import datetime
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.planning.memory import devices
from unstall.storage import resolve_path

TABLE = Path(__file__).with_name("machines.json")
SAID = ("taken_on", "region", "currency", "source")  # of the table as a whole
FIELDS = ("vcpus", "memory_gib", "card", "cards", "accelerator", "per_hour", "per_hour_spot")
MAX_BYTES = 2**20


@dataclass(frozen=True)
class Machine:
    name: str
    vcpus: int
    memory_gib: float
    card: str | None  # a name of the table of cards (`unstall plan --list-devices`)
    cards: int
    accelerator: str | None  # what Vertex AI calls that card
    per_hour: float | None  # of the whole machine
    per_hour_spot: float | None

    @property
    def memory_bytes(self) -> int:
        return int(self.memory_gib * 2**30)

    def price(self, is_spot: bool) -> float | None:
        return self.per_hour_spot if is_spot else self.per_hour


@dataclass(frozen=True)
class Table:
    taken_on: str
    region: str
    currency: str
    source: str
    machines: tuple[Machine, ...]

    def named(self, name: str) -> Machine | None:
        return next((each for each in self.machines if each.name == name), None)

    def said(self) -> dict[str, Any]:
        age = datetime.datetime.now(datetime.UTC).date() - datetime.date.fromisoformat(self.taken_on)
        return {
            "taken_on": self.taken_on, "age_days": age.days, "region": self.region, "currency": self.currency,
            "source": self.source,
        }  # fmt: skip


def load_table(path: str | None = None, cards: str | None = None) -> Table:
    """`cards`: another table of cards, by whose names the machines' are judged."""
    source = resolve_path(path) if path else TABLE
    stored = _stored(source)
    _refuse_names(str(source), stored, (*SAID, "machines"))
    for name in SAID:
        _refuse_unless(isinstance(stored[name], str) and stored[name].strip() != "", str(source), name, "text", stored[name])
    _refuse_unless(_is_date(stored["taken_on"]), str(source), "taken_on", "a date, as in 2026-01-31", stored["taken_on"])
    rows = stored["machines"]
    _refuse_unless(isinstance(rows, dict) and bool(rows), str(source), "machines", "machines by their names", rows)
    known = devices.list_gpus(cards)
    said = {name: str(stored[name]) for name in SAID}
    return Table(**said, machines=tuple(_machine(source, name, row, known) for name, row in rows.items()))


def _stored(source: Path) -> dict[str, Any]:
    try:
        if source.stat().st_size > MAX_BYTES:
            raise InvalidInputError(f"'{source}' is no table of machines: expected at most {MAX_BYTES:,} bytes.")
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"Cannot read the table of machines '{source}': {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"'{source}' is no table of machines: expected text in UTF-8.") from None
    is_toml = source.suffix == ".toml"
    try:
        stored = tomllib.loads(text) if is_toml else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"'{source}': expected {'TOML' if is_toml else 'JSON'}. {error}") from None
    if not isinstance(stored, dict):
        raise InvalidInputError(f"'{source}': expected a table of machines. Received: {type(stored).__name__}")
    return stored


def _machine(source: Path, name: str, row: Any, known: dict[str, dict[str, Any]]) -> Machine:
    where = f"{source}: {name}"
    if not isinstance(row, dict):
        raise InvalidInputError(f"{where}: expected figures by their names. Received: {row!r}")
    row = {"card": None, "accelerator": None, "per_hour": None, "per_hour_spot": None, **row}  # TOML has no null
    _refuse_names(where, row, FIELDS)
    _refuse_unless(_is_whole(row["vcpus"], 1), where, "vcpus", "a whole number of 1 or more", row["vcpus"])
    _refuse_unless(_is_number(row["memory_gib"]), where, "memory_gib", "a number above 0", row["memory_gib"])
    _refuse_unless(_is_whole(row["cards"], 0), where, "cards", "a whole number of 0 or more", row["cards"])
    has_cards = row["cards"] > 0
    if has_cards:
        _refuse_unless(row["card"] in known, where, "card", f"one of {', '.join(known)}", row["card"])
    else:
        _refuse_unless(row["card"] is None, where, "card", "none, as cards is 0", row["card"])
    fits = isinstance(row["accelerator"], str) if has_cards else row["accelerator"] is None
    _refuse_unless(
        fits, where, "accelerator", "a name of Vertex AI's, as in NVIDIA_L4, where there is a card", row["accelerator"]
    )
    for price in ("per_hour", "per_hour_spot"):
        _refuse_unless(row[price] is None or _is_number(row[price]), where, price, "a number above 0, or null", row[price])
    return Machine(name, *(row[each] for each in FIELDS))


def _refuse_names(where: str, stored: dict[str, Any], expected: tuple[str, ...]) -> None:
    missing = [name for name in expected if name not in stored]
    if missing:
        raise InvalidInputError(f"{where}: '{missing[0]}' is missing. Expected: {', '.join(expected)}.")
    unknown = [name for name in stored if name not in expected]
    if unknown:
        raise InvalidInputError(f"{where}: there is no field '{unknown[0]}'. Expected: {', '.join(expected)}.")


def _refuse_unless(fits: bool, where: str, name: str, expected: str, value: Any) -> None:
    if not fits:
        raise InvalidInputError(f"{where}: {name}: expected {expected}. Received: {value!r}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= 2**20


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
