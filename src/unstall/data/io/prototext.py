"""Protobuf's text format, read without a schema: `a: 1 b { c: 'x' }`, as label maps and pipeline.config are written.

Read as people write it: `a {`, `a: {` and `a <`; commas and semicolons after values; lists in brackets; single and double quotes,
texts that follow each other being one; comments; names in brackets, as extensions have them. Every field knows its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from unstall.data.io.reader import Unparsable, quote

DEEPEST = 16  # blocks within blocks; real files have ten at most
CLOSED_BY = {"{": "}", "<": ">"}
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
class Scalar:
    """A number, a word or a text, as it is written; what it means is for the reader of the field to say."""

    text: str
    line: int
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    fields: list[Field] = field(default_factory=list)
    line: int = 1


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    value: Scalar | Block
    line: int


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # 'text', 'word' or the mark itself
    value: str
    line: int
    follows_separator: bool = False  # a comma or semicolon stands before it


def parse(text: str) -> list[Field]:
    """The fields of the file, in its order. A list gives as many fields of the same name."""
    reading = _Parser(list(_tokens(text)))
    fields: list[Field] = []
    while reading.next is not None:
        fields += reading.field(0)
    return fields


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def field(self, depth: int) -> list[Field]:
        """`name: value`, `name: [value, value]`, `name { … }` or `name: { … }`."""
        name, line = self._name()
        has_colon = self.next is not None and self.next.kind == ":"
        if has_colon:
            self._at += 1
        token = self.next
        if token is None:
            raise Unparsable(f"The file ends after {quote(name)}. Expected its value.", line=line, field=name)
        if token.kind == "[":
            return [Field(name, value, value.line) for value in self._list(name, line, depth)]
        if token.kind not in CLOSED_BY and not has_colon:
            said = f"Expected ':' or '{{' after {quote(name)}. Received: {quote(token.value)}."
            raise Unparsable(said, line=token.line, field=name)
        return [Field(name, self._value(name, line, depth), line)]

    def _name(self) -> tuple[str, int]:
        token = self.next
        if token is not None and token.kind == "word":
            self._at += 1
            return token.value, token.line
        inner = [each.kind for each in self._tokens[self._at : self._at + 3]]
        if inner == ["[", "word", "]"]:  # of an extension
            self._at += 3
            return f"[{self._tokens[self._at - 2].value}]", self._tokens[self._at - 2].line
        assert token is not None
        raise Unparsable(f"Expected the name of a field. Received: {quote(token.value)}.", line=token.line)

    def _value(self, name: str, line: int, depth: int) -> Scalar | Block:
        token = self.next
        if token is None:
            raise Unparsable(f"The file ends within {quote(name)}. Expected a value.", line=line, field=name)
        if token.kind in CLOSED_BY:
            return self._block(name, line, depth + 1)
        if token.kind not in {"text", "word"}:
            said = f"Expected a value for {quote(name)}. Received: {quote(token.value)}."
            raise Unparsable(said, line=token.line, field=name)
        self._at += 1
        if token.kind == "text":
            return Scalar("".join([token.value, *self._further_texts()]), token.line, is_quoted=True)
        if token.value == "-" and self.next is not None and self.next.kind == "word":  # '- 1'
            self._at += 1
            return Scalar(f"-{self._tokens[self._at - 1].value}", token.line)
        return Scalar(token.value, token.line)

    def _further_texts(self) -> Iterator[str]:
        while self.next is not None and self.next.kind == "text" and not self.next.follows_separator:
            yield self.next.value
            self._at += 1

    def _list(self, name: str, line: int, depth: int) -> Iterator[Scalar | Block]:
        self._at += 1
        while self.next is None or self.next.kind != "]":
            if self.next is None:
                raise Unparsable(f"The list {quote(name)} is never closed. Expected ']'.", line=line, field=name)
            yield self._value(name, line, depth)
        self._at += 1

    def _block(self, name: str, line: int, depth: int) -> Block:
        if depth > DEEPEST:
            raise Unparsable(f"More than {DEEPEST} blocks within each other.", line=line, field=name)
        opened = self._tokens[self._at]
        closed_by = CLOSED_BY[opened.kind]
        self._at += 1
        fields: list[Field] = []
        while self.next is None or self.next.kind != closed_by:
            if self.next is None:
                raise Unparsable(f"The block {quote(name)} is never closed. Expected '{closed_by}'.", line=line, field=name)
            fields += self.field(depth)
        self._at += 1
        return Block(fields, opened.line)


def _tokens(text: str) -> Iterator[_Token]:
    at, line, follows_separator = 0, 1, False
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unparsable(f"Expected a field or a block. Received: {quote(text[at : at + 20])}.", line=line)
        kind, value = str(match.lastgroup), match[0]
        if kind == "text":
            yield _Token(kind, _unescaped(value[1:-1]), line, follows_separator)
        elif kind == "mark":
            yield _Token(value, value, line)
        elif kind == "word":
            yield _Token(kind, value, line)
        follows_separator = kind == "skipped" and (follows_separator or (value[0] != "#" and not value.isspace()))
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
