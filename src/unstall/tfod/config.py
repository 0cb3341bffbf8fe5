"""A pipeline.config as blocks of typed fields. A wrong value is refused with file, line and field."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from unstall.base.errors import InvalidInputError
from unstall.data.io import prototext
from unstall.data.io.prototext import Block, Field, Scalar
from unstall.data.io.reader import Unparsable, as_text, quote, read_bytes
from unstall.storage import resolve_path

MAX_BYTES = 1 << 20  # of a pipeline.config; real ones have a few kilobytes
MAX_FIELDS = 10_000
MANY_DIGITS = 7  # from so many on a number may have been written from 32 bits
MAX_OF_32_BITS = 3e38
FLAGS = {"true": True, "True": True, "t": True, "1": True, "false": False, "False": False, "f": False, "0": False}
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?")
HEXADECIMAL, OCTAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}"), re.compile(r"[+-]?0[0-7]{1,21}")


@dataclass(frozen=True)
class Node:
    """A block of the file, with its place in it. One that is not there is empty: the API then takes what is usual."""

    file: str
    path: str  # 'train_config.optimizer'; empty for the whole file
    fields: tuple[Field, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields)

    # --- what is in it ---

    def has(self, name: str) -> bool:
        return any(field.name == name for field in self.fields)

    def given(self, name: str) -> list[Field]:
        return [field for field in self.fields if field.name == name]

    def names(self) -> list[str]:
        return list(dict.fromkeys(field.name for field in self.fields))

    def place(self, name: str) -> str:
        return f"{self.path}.{name}".lstrip(".")

    def node(self, name: str, *further: str) -> Node:
        """The block of that name; several are one, as in protobuf. `further` names lead deeper."""
        inner = tuple(field for block in self._blocks(name) for field in block.fields)
        found = Node(self.file, self.place(name), inner)
        return found.node(*further) if further else found

    def nodes(self, name: str) -> list[Node]:
        """Of a field that may be repeated."""
        return [Node(self.file, self.place(name), tuple(block.fields)) for block in self._blocks(name)]

    def _blocks(self, name: str) -> Iterator[Block]:
        for field in self.given(name):
            if isinstance(field.value, Scalar):
                self._refuse(field, "a block in braces", field.value.text)
            yield field.value

    # --- its values ---

    def word(self, name: str, default: str = "") -> str:
        return self._scalars(name)[-1][1].text if self.has(name) else default

    def words(self, name: str) -> list[str]:
        return [scalar.text for _, scalar in self._scalars(name)]

    def flag(self, name: str, default: bool = False) -> bool:
        for field, scalar in self._scalars(name)[-1:]:
            if scalar.text not in FLAGS or scalar.is_quoted:
                self._refuse(field, "true or false", scalar.text)
            return FLAGS[scalar.text]
        return default

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**63 - 1) -> int:
        return int(self._numbers(name, least, most, is_whole=True)[-1]) if self.has(name) else default

    def number(self, name: str, default: float, least: float = -math.inf, most: float = math.inf) -> float:
        """Both ends are included."""
        return self.numbers(name, least, most)[-1] if self.has(name) else default

    def numbers(self, name: str, least: float = -math.inf, most: float = math.inf) -> list[float]:
        return self._numbers(name, least, most, is_whole=False)

    def _numbers(self, name: str, least: float, most: float, is_whole: bool) -> list[float]:
        found = []
        for field, scalar in self._scalars(name):
            value = None if scalar.is_quoted else as_number(scalar.text)
            if value is None or not least <= value <= most or (is_whole and value != int(value)):
                self._refuse(field, _wanted("a whole number" if is_whole else "a number", least, most), scalar.text)
            found.append(value)
        return found

    def _scalars(self, name: str) -> list[tuple[Field, Scalar]]:
        found = []
        for field in self.given(name):
            if isinstance(field.value, Block):
                self._refuse(field, "one value", "a block")
            found.append((field, field.value))
        return found

    def _refuse(self, field: Field, wanted: str, received: str) -> NoReturn:
        place = f"{self.file}:{field.line}: {self.place(field.name)}"
        raise InvalidInputError(f"{place}: expected {wanted}. Received: {quote(received)}")


def _wanted(what: str, least: float, most: float) -> str:
    if math.isfinite(least) and math.isfinite(most) and most < 2**62:
        return f"{what} from {least:g} to {most:g}"
    return f"{what} of {least:g} or more" if math.isfinite(least) else what


def as_number(text: str) -> float | None:
    """As protobuf writes numbers: 1, .5, 1e-4, 0.9f, 0x1F, 017. None: this is none, or not finite."""
    if HEXADECIMAL.fullmatch(text):
        return float(int(text, 16))
    if OCTAL.fullmatch(text):
        return float(int(text, 8))
    if not NUMBER.fullmatch(text):
        return None
    value = float(text.rstrip("fF"))
    if not math.isfinite(value):
        return None
    digits = re.sub(r"\D", "", re.split("[eE]", text)[0]).strip("0")
    return shorten_float(value) if "." in text and len(digits) >= MANY_DIGITS else value


def shorten_float(value: float) -> float:
    """0.6 for 0.6000000238418579: configs that the API has written have the digits of 32 bits."""
    for digits in range(1, MANY_DIGITS if abs(value) < MAX_OF_32_BITS else 0):
        near = float(f"{value:.{digits}g}")
        if struct.pack("f", near) == struct.pack("f", value):
            return near
    return value


def list_leaves(node: Node) -> Iterator[tuple[str, Field]]:
    """Every value, and every block that is empty, with its path; in the order of the file."""
    for field in node.fields:
        place = node.place(field.name)
        if isinstance(field.value, Block) and field.value.fields:
            yield from list_leaves(Node(node.file, place, tuple(field.value.fields)))
        else:
            yield place, field


def read(path: Path | str) -> Node:
    """The whole file. One that cannot be read, or is no protobuf text, is refused."""
    path = resolve_path(path)
    try:
        return parse_text(as_text(read_bytes(path, MAX_BYTES)), str(path))
    except Unparsable as error:
        raise InvalidInputError(f"{path}: {error} Expected a pipeline.config of the TF Object Detection API.") from None
    except OSError as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error.strerror or error}.") from None


def parse_text(text: str, file: str) -> Node:
    try:
        fields = prototext.parse(text)
    except Unparsable as error:
        raise InvalidInputError(f"{file}:{error.line}: {error}") from None
    node = Node(file, "", tuple(fields))
    count = sum(1 for _ in list_leaves(node))
    if count > MAX_FIELDS:
        raise InvalidInputError(f"{file}: expected a pipeline.config, which has some hundred fields. Received: {count:,} fields")
    return node
