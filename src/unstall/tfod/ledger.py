"""What became of every field of a config: carried over, changed, left out, or unknown; each with its line and its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from unstall.config.toml_file import as_toml
from unstall.data.io.prototext import Block, Field
from unstall.tfod.config import Node, list_leaves

Became = Literal["carried over", "changed", "left out", "unknown"]
AS_HERE = "as it is here, too"
MAX_SHOWN = 200  # characters of a value


@dataclass(frozen=True)
class FieldOutcome:
    became: Became
    to: str = ""  # 'batch_size = 16'
    why: str = ""  # of what was changed; of what was left out, what happens instead


@dataclass(frozen=True)
class Row:
    line: int
    field: str
    value: str
    became: Became
    to: str
    why: str

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)


class Ledger:
    """Settings as they come about, and what became of the fields that they came from."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.why: dict[str, str] = {}  # of a setting: where in the config it comes from
        self._outcomes: dict[int, FieldOutcome] = {}  # by the field's identity: two fields may be equal

    # --- settings ---

    def set(self, setting: str, value: Any, node: Node, *names: str, changed: str = "", said: str = "") -> None:
        """`names` of fields in the node are where it comes from; `changed`, why it is not theirs; else what is `said`."""
        if setting.startswith("detector."):
            self.values.setdefault("detector", {})[setting.partition(".")[2]] = value
        else:
            self.values[setting] = value
        given = [field for name in names for field in node.given(name)]
        to = f"{setting} = {as_toml(value)}"
        for field in given:
            self._outcomes[id(field)] = FieldOutcome("changed" if changed else "carried over", to, changed or said)
        place = f"line {given[-1].line}, {node.place(given[-1].name)}" if given else f"not in {node.path}: the API's default"
        self.why[setting] = f"{place}; {changed or said}" if changed or said else place

    def follow(self, setting: str, value: Any, why: str) -> None:
        """A setting that follows from several fields, or from what is there, or is not."""
        self.set(setting, value, Node("", ""))
        self.why[setting] = why

    # --- fields ---

    def same(self, node: Node, *names: str) -> None:
        """Fields that ask for what is done here anyway."""
        self._mark(node, names, FieldOutcome("carried over", AS_HERE))

    def carried(self, node: Node, *names: str, to: str) -> None:
        self._mark(node, names, FieldOutcome("carried over", to))

    def changed(self, node: Node, *names: str, to: str, why: str) -> None:
        self._mark(node, names, FieldOutcome("changed", to, why))

    def left_out(self, node: Node, *names: str, instead: str) -> None:
        self._mark(node, names, FieldOutcome("left out", why=instead))

    def same_if(self, fits: bool, node: Node, *names: str, instead: str) -> None:
        """Done here anyway if it `fits`; else left out."""
        self._mark(node, names, FieldOutcome("carried over", AS_HERE) if fits else FieldOutcome("left out", why=instead))

    def _mark(self, node: Node, names: tuple[str, ...], outcome: FieldOutcome) -> None:
        for name in names or node.names():
            for field in node.given(name):
                self._mark_all(field, outcome)

    def _mark_all(self, field: Field, outcome: FieldOutcome) -> None:
        """With all that is within it; what was said of a field before stays."""
        self._outcomes.setdefault(id(field), outcome)
        if isinstance(field.value, Block):
            for inner in field.value.fields:
                self._mark_all(inner, outcome)

    # --- the report ---

    def rows(self, root: Node, otherwise: Callable[[str], FieldOutcome]) -> list[Row]:
        """Of every field, in the order of the lines. `otherwise(path)` is the fate of one of which nothing was said."""
        found = []
        for place, field in list_leaves(root):
            outcome = self._outcomes.get(id(field)) or otherwise(place)
            found.append(Row(field.line, place, format_field(field), outcome.became, outcome.to, outcome.why))
        return sorted(found, key=lambda row: row.line)


def format_field(field: Field) -> str:
    if isinstance(field.value, Block):
        return "{}"
    text = json.dumps(field.value.text, ensure_ascii=False) if field.value.is_quoted else field.value.text
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
