"""Label maps of the TF Object Detection API (.pbtxt): `item { id: 1 name: 'cat' }`, read and written without TensorFlow.

Read as people write them: `item {` and `item: {`, single and double quotes, commas and semicolons between fields, comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unstall.data.example import Origin
from unstall.data.reading import MOST_TEXT_BYTES, Notes, Unparsable, quoted, read_text

DEEPEST = 16  # blocks within blocks
TOKEN = re.compile(
    r"""
    (?P<skipped>[\s,;]+|\#[^\n]*)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<word>[^\s"'#{}<>:,;\[\]]+)
  | (?P<mark>[{}<>:\[\]])
    """,
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Item:
    number: int
    name: str
    display_name: str
    line: int

    @property
    def shown_name(self) -> str:
        return self.name or self.display_name


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # 'text', 'word' or the mark itself
    value: str
    line: int


def read(path: Path) -> list[Item]:
    return parse(read_text(path, MOST_TEXT_BYTES))


def parse(text: str) -> list[Item]:
    tokens = list(_tokens(text))
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        name = tokens[at]
        if name.kind != "word":
            raise Unparsable(f"Expected 'item {{'. Received: {quoted(name.value)}.", line=name.line)
        fields: list[tuple[str, _Token]] = []
        at = _value(tokens, at, fields if name.value == "item" else None)
        if name.value == "item":
            items.append(_item(fields, name.line))
    return items


def _value(tokens: list[_Token], at: int, fields: list[tuple[str, _Token]] | None) -> int:
    """Passes over one `name: value` or `name { … }`; the plain fields directly within the block go to `fields`."""
    name = tokens[at]
    at += 1
    if at < len(tokens) and tokens[at].kind == ":":
        at += 1
    if at >= len(tokens):
        raise Unparsable(f"The file ends after {quoted(name.value)}. Expected its value.", line=name.line)
    if tokens[at].kind in {"text", "word"}:
        return at + 1
    if tokens[at].kind not in {"{", "<", "["}:
        raise Unparsable(f"Expected a value for {quoted(name.value)}. Received: '{tokens[at].value}'.", line=tokens[at].line)
    depth, at = 1, at + 1
    while depth and at < len(tokens):
        token = tokens[at]
        if token.kind in {"{", "<", "["}:
            depth += 1
            if depth > DEEPEST:
                raise Unparsable(f"More than {DEEPEST} blocks within each other. Expected a label map.", line=token.line)
        elif token.kind in {"}", ">", "]"}:
            depth -= 1
        elif fields is not None and depth == 1 and token.kind == "word" and _has_value(tokens, at):
            fields.append((token.value, tokens[at + 2]))
            at += 2
        at += 1
    if depth:
        raise Unparsable(f"The block {quoted(name.value)} is never closed. Expected '}}'.", line=name.line)
    return at


def _has_value(tokens: list[_Token], at: int) -> bool:
    return at + 2 < len(tokens) and tokens[at + 1].kind == ":" and tokens[at + 2].kind in {"text", "word"}


def _item(fields: list[tuple[str, _Token]], line: int) -> Item:
    values = dict(reversed(fields))
    number = values.get("id")
    if number is None:
        raise Unparsable("This item has no id. Expected `id: 1`.", line=line)
    if not re.fullmatch(r"-?\d{1,9}", number.value):
        raise Unparsable(f"Expected a whole number as id. Received: {quoted(number.value)}.", line=number.line)
    names = {key: values[key].value for key in ("name", "display_name") if key in values}
    return Item(int(number.value), names.get("name", ""), names.get("display_name", ""), line)


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unparsable(f"Expected a field or a block. Received: {quoted(text[at : at + 20])}.", line=line)
        kind, value = str(match.lastgroup), match[0]
        if kind == "text":
            yield _Token(kind, _unescaped(value[1:-1]), line)
        elif kind == "mark":
            yield _Token(value, value, line)
        elif kind == "word":
            yield _Token(kind, value, line)
        line += value.count("\n")
        at = match.end()


def _unescaped(text: str) -> str:
    """Octal and hexadecimal escapes are bytes of UTF-8, as protobuf writes what is not ASCII."""
    if "\\" not in text:
        return text
    parts: list[bytes] = []
    at = 0
    for match in ESCAPE.finditer(text):
        parts.append(text[at : match.start()].encode("utf-8", errors="replace"))
        said = match[1]
        if said[0] in "01234567":
            parts.append(bytes([int(said, 8) & 0xFF]))
        elif said[0] == "x" and len(said) > 1:
            parts.append(bytes([int(said[1:], 16)]))
        else:
            parts.append(ESCAPED.get(said, said).encode("utf-8", errors="replace"))
        at = match.end()
    parts.append(text[at:].encode("utf-8", errors="replace"))
    return b"".join(parts).decode("utf-8", errors="replace")


def checked(items: Sequence[Item], file: str, notes: Notes) -> list[Item]:
    """The items in the order of their numbers, each number once; what is wrong with them is noted."""
    by_number: dict[int, Item] = {}
    names: dict[str, int] = {}
    for item in items:
        origin = Origin(file, item.line)
        if item.number in by_number:
            other = quoted(by_number[item.number].shown_name)
            message = f"The id {item.number} is given to {other} and to {quoted(item.shown_name)}, which is passed over."
            notes.add("label_map_duplicates", message, origin)
            continue
        if item.shown_name and item.shown_name in names:
            message = f"The name {quoted(item.shown_name)} has the ids {names[item.shown_name]} and {item.number}."
            notes.add("label_map_duplicates", message, origin)
        if item.number < 1:
            message = f"{quoted(item.shown_name)} has the id {item.number}. Expected ids from 1: 0 is the background."
            notes.add("label_map_background", message, origin)
        names.setdefault(item.shown_name, item.number)
        by_number[item.number] = item
    numbers = sorted(by_number)
    real = [number for number in numbers if number >= 1]
    if real and real[-1] != len(real):
        missing = f"{len(real)} classes have ids up to {real[-1]}"
        notes.add("label_map_gaps", f"{missing}. Expected 1 to {len(real)} without gaps.", Origin(file))
    return [by_number[number] for number in numbers]


def write(path: Path, names: Sequence[str], numbers: Sequence[int]) -> None:
    blocks = [f'item {{\n  id: {number}\n  name: "{_escaped(name)}"\n}}\n' for number, name in zip(numbers, names, strict=True)]
    path.write_text("\n".join(blocks), encoding="utf-8")


def _escaped(text: str) -> str:
    text = text.encode("utf-8", errors="replace").decode("utf-8").replace("\\", "\\\\").replace('"', '\\"')
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", text)
