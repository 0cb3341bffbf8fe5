"""The error that ended a program, with what the probe saw of it: the user's lines and their values, the layer or the stage that
failed, and the lines that made them. What the causes of errors share.

    failure = find_failure(journal)
    failure.text.line              ValueError: operands could not be broadcast together with shapes (3,4) (5,4)
    failure.lines[-1].values       what the failing line used, as `Value`: name, shape, dtype, range, or a short text
    failure.layer, failure.stage("batch")

A change of the user's own line is written by `line_changes.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from unstall.diagnosis.errors.error_messages import ErrorText, find_innermost, find_quoted_lines
from unstall.diagnosis.errors.fatal_error import add_root, find_fatal_error
from unstall.diagnosis.pipelines import get_kind
from unstall.journal.events import ErrorInspected, ErrorRaised, Event
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place, is_user_file

MAX_LETTERS = 160  # of a line of source in a sentence
MAX_ITEMS = 4
MAX_KEYS = 12
# The module and the class of values that are arrays or tensors, and the word for them.
_ARRAYS = (("numpy.", "array"), ("jaxlib.", "array"), ("jax.", "array"), ("torch.", "tensor"), ("tensorflow.", "tensor"))
_SHAPE = re.compile(
    r"(?P<name>torch\.Size|TensorShape)?[\[(](?P<sides>\s*(?:\d+|None|\?|-1)(?:\s*,\s*(?:\d+|None|\?|-1))*\s*,?\s*|)[\])]"
)
_PRODUCT = re.compile(r"(?<![\w.])(\d+(?:x\d+)+)(?![\w.])")
# Ways to begin a data set; of what some of them are made of, TensorFlow makes several stages.
_SOURCES = (
    "from_generator",
    "from_tensor_slices",
    "list_files",
    "TFRecordDataset",
    "TextLineDataset",
    "image_dataset_from_directory",
)
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Value:
    """What a name in a line stood for when the line failed."""

    name: str
    facts: dict[str, Any]
    folder: str = ""

    @property
    def shape(self) -> Shape | None:
        return as_shape(self.facts.get("shape"))

    @property
    def dtype(self) -> str:
        return str(self.facts.get("dtype", ""))

    @property
    def is_in_failing(self) -> bool:
        """Whether it stands in the expression that failed, as far as Python tells (3.11 and later)."""
        return bool(self.facts.get("in_failing", True))

    @property
    def is_array(self) -> bool:
        return "shape" in self.facts and bool(self.dtype)

    @property
    def words(self) -> str:
        """float32 tensor (4, 3, 16, 16), 0 to 1"""
        return describe_value(self.facts)

    @property
    def text(self) -> str:
        """`x`: float32 tensor (4, 3)"""
        return f"`{self.name}`: {self.words}"


@dataclass(frozen=True)
class UserLine:
    """A line of the user's own that the error passed through."""

    file: str
    line: int
    function: str
    folder: str = ""
    source: tuple[str, ...] = ()  # of the whole statement, as it stands in the file
    first: int = 0  # the number of the first of these
    values: tuple[Value, ...] = ()
    arguments: tuple[Value, ...] = ()  # of the function, where the line does not use them
    origins: tuple[Value, ...] = ()  # what gave the values of the line, and what gave these, the nearest first
    loops: tuple[dict[str, Any], ...] = ()
    statement: str = ""  # the kind of it: Raise, Assert, Expr, …

    @property
    def where(self) -> str:
        return format_place(self.file, self.line, self.folder)

    @property
    def place_in_words(self) -> str:
        """train.py:43 in load"""
        return f"{self.where} in {self.function}" if _is_named(self.function) else self.where

    @property
    def code(self) -> str:
        """The statement in one line; of a long one, the line that failed."""
        return join_lines(self.source, self.line - self.first)

    def find_maker(self, value: Value) -> Maker | None:
        """The statement of the same function that gave the value to the name, where it is above this one."""
        made_at, source = value.facts.get("made_at"), tuple(value.facts.get("made_by") or ())
        if not made_at or made_at == self.line:
            return None
        return Maker("value", value.name, format_place(self.file, made_at, self.folder), source, made_at, {}, self.folder)

    def value(self, name: str) -> Value | None:
        return next((value for value in (*self.values, *self.arguments) if value.name == name), None)


@dataclass(frozen=True)
class Maker:
    """A line of the user's own that made something: a layer, a stage of a data set, a compiled model."""

    what: str  # layer | compile | the name of a stage, as it is called: batch, map, …
    name: str
    where: str | None
    source: tuple[str, ...]
    first: int  # the number of the first line of the source
    facts: dict[str, Any]
    folder: str = ""

    @property
    def code(self) -> str:
        number = (self.where or "").rpartition(":")[2]
        return join_lines(self.source, int(number) - self.first if number.isdigit() else 0)

    @property
    def words(self) -> str:
        """the layer features.3 (Linear, in_features=100, out_features=10)"""
        if self.what != "layer":
            return f".{self.what}"
        options = [f"{name}={_option(value)}" for name, value in (self.facts.get("options") or {}).items()]
        inside = ", ".join([self.facts.get("class", ""), *options])
        return f"the layer {self.name} ({inside})" if self.name else f"a layer {inside}"


@dataclass(frozen=True)
class Failure:
    error: ErrorRaised
    inspected: ErrorInspected | None
    folder: str

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.error,) if self.inspected is None else (self.error, self.inspected)

    @property
    def text(self) -> ErrorText:
        return find_innermost(self.error.kind, self.error.message)

    @property
    def lines(self) -> tuple[UserLine, ...]:
        """Those that the error passed through, outermost first; last those of a traceback that the message quotes (of a generator
        or a worker process, say)."""
        return (*self.own_lines, *self.quoted)

    @property
    def own_lines(self) -> tuple[UserLine, ...]:
        if self.inspected is not None and self.inspected.lines:
            return tuple(create_line(row, self.folder) for row in self.inspected.lines)
        own = [frame for frame in reversed(self.error.frames) if is_user_file(frame["file"])]
        return tuple(UserLine(frame["file"], frame["line"], frame["function"], self.folder) for frame in own)

    @property
    def quoted(self) -> tuple[UserLine, ...]:
        texts = [self.error.message, *(text for text in self.error.chain if "RemoteTraceback" in text.partition(":")[0])]
        rows = [(add_root(row.file, self.folder), row) for text in texts for row in find_quoted_lines(text)]
        known = {(line.file, line.line) for line in self.own_lines}
        return tuple(
            UserLine(file, row.line, row.function, self.folder, (row.code,) if row.code else (), row.line)
            for file, row in rows
            if is_user_file(file) and (file, row.line) not in known
        )

    @property
    def raised(self) -> UserLine | None:
        """The innermost line of the user's own."""
        return self.lines[-1] if self.lines else None

    @property
    def layer(self) -> Maker | None:
        """The layer in which it arose, or that the message names."""
        return next((maker for maker in self.makers if maker.what == "layer"), None)

    @property
    def compiled(self) -> Maker | None:
        return next((maker for maker in self.makers if maker.what == "compile"), None)

    @property
    def makers(self) -> tuple[Maker, ...]:
        rows = self.inspected.makers if self.inspected is not None else []
        return tuple(_maker(row["what"], row, self.folder) for row in rows)

    @property
    def stages(self) -> tuple[Maker, ...]:
        """Of the tf.data set that was at hand, the source first; those that a library added have no line."""
        rows = self.inspected.pipelines if self.inspected is not None else []
        return (
            tuple(_maker(stage.get("stage") or get_kind(stage["name"]), stage, self.folder) for stage in rows[0]["stages"])
            if rows
            else ()
        )

    @property
    def written_stages(self) -> tuple[Maker, ...]:
        """Those that the user wrote: of one stage, a library may make several."""
        found: dict[tuple[str, str | None], Maker] = {}
        for stage in self.stages:
            names = [name for name in (stage.what, *_SOURCES) if re.search(rf"\b{name}\b", " ".join(stage.source))]
            if stage.where and names:
                found[names[0], stage.where] = replace(stage, what=names[0])  # the last: it gives what the user's call gives
        return tuple(found.values())

    def stage(self, kind: str) -> Maker | None:
        """The last stage of a kind that has a line of the user's."""
        return next((stage for stage in reversed(self.stages) if stage.where and get_kind(stage.facts["name"]) == kind), None)

    def maker(self, what: str) -> Maker | None:
        """What the probe found of a kind: the elements of a loader, a function that was called wrongly, …"""
        return next((maker for maker in self.makers if maker.what == what), None)

    @property
    def loader(self) -> tuple[Value, Maker | None] | None:
        """The DataLoader at hand, in the line or over which it loops, with the line that made it."""
        for line in reversed(self.own_lines):
            looped = [Value(row["name"], row, self.folder) for loop in reversed(line.loops) for row in loop.get("over") or ()]
            for value in (*line.values, *looped):
                if value.facts.get("type") == "torch.DataLoader":
                    return value, line.find_maker(value)
        return None

    def argument(self, function: str, name: str) -> Value | None:
        """What a function of a library was given, below the user's innermost line."""
        for call in reversed(self.inspected.calls if self.inspected is not None else []):
            for value in call["values"] if call["function"] == function else []:
                if value["name"] == name:
                    return Value(name, value, self.folder)
        return None


def find_failure(journal: Journal) -> Failure | None:
    error = find_fatal_error(journal)
    if error is None:
        return None
    inspected = [event for event in journal.of(ErrorInspected) if event.error_at == error.at]
    return Failure(error, inspected[-1] if inspected else None, find_program_folder(journal))


def create_line(row: dict[str, Any], folder: str) -> UserLine:
    def values(key: str) -> tuple[Value, ...]:
        return tuple(Value(each["name"], each, folder) for each in row.get(key) or ())

    return UserLine(
        row["file"],
        row["line"],
        row["function"],
        folder,
        tuple(row.get("source") or ()),
        row.get("first", row["line"]),
        values("values"),
        values("arguments"),
        values("origins"),
        tuple(row.get("loops") or ()),
        row.get("statement", ""),
    )


def _maker(what: str, row: dict[str, Any], folder: str) -> Maker:
    file, _, number = (row.get("where") or "").rpartition(":")
    where = format_place(file, int(number), folder) if file and number.isdigit() else row.get("where")
    return Maker(what, str(row.get("name", "")), where, tuple(row.get("source") or ()), row.get("first", 0), row, folder)


# --- words ---


def describe_value(facts: dict[str, Any]) -> str:
    """A value in a few words: as much of it as the probe has read."""
    if "components" in facts:
        return f"data set of {describe_components(facts['components'])}"
    if "shape" in facts:
        return _describe_array(facts)
    if "text" in facts:
        return str(facts["text"])
    kind = str(facts.get("type", "")).rpartition(".")[2]
    if facts.get("options"):
        return f"{kind}({', '.join(f'{name}={_option(value)}' for name, value in facts['options'].items())})"
    if "keys" in facts:
        return f"{kind} with {_keys(facts['keys'], facts['length'])}"
    if "size" in facts:
        return f"{facts['mode']} image of {facts['size'][0]} x {facts['size'][1]} pixels"
    if "length" in facts:
        return f"{kind} of length {facts['length']:,}{_shapes(facts)}"
    return f"{kind} {facts['called']}" if facts.get("called") else kind


def _describe_array(facts: dict[str, Any]) -> str:
    if "Tracer" in str(facts.get("type", "")):
        return f"{facts.get('dtype', '')} tracer {format_shape(as_shape(facts['shape']))}".strip()
    word = next((word for module, word in _ARRAYS if str(facts.get("type", "")).startswith(module)), "tensor")
    if facts["shape"] == [] and "text" in facts:
        return f"{facts['text']} ({facts.get('dtype', '')})"
    said = f"{facts.get('dtype', '')} {word} {format_shape(as_shape(facts['shape']))}".strip()
    if "min" in facts:
        said += f", all {facts['min']:.4g}" if facts["min"] == facts["max"] else f", {facts['min']:.4g} to {facts['max']:.4g}"
    if facts.get("not_finite"):
        said += f", {facts['not_finite']:,} of its numbers not finite"
    on_device = facts.get("device", "cpu")
    return said if on_device == "cpu" else f"{said}, on {on_device}"


def _shapes(facts: dict[str, Any]) -> str:
    rows = facts.get("shapes") or []
    if not rows:
        return ""
    shown = ", ".join(format_shape(as_shape(row["shape"])) for row in rows[:MAX_ITEMS])
    return f", all of shape {shown}" if len(rows) == 1 else f", of shapes {shown}{', …' if len(rows) > MAX_ITEMS else ''}"


def _keys(keys: list[Any], length: int) -> str:
    if not keys:
        return f"{length:,} entries"
    shown = ", ".join(str(key) for key in keys[:MAX_KEYS])
    return f"the key {shown}" if length == 1 else f"the keys {shown}{', …' if length > min(len(keys), MAX_KEYS) else ''}"


def _option(value: Any) -> str:
    return format_shape(as_shape(value)) if isinstance(value, list) else repr(value)


def describe_components(components: list[dict[str, Any]]) -> str:
    """image (None, None, 3) uint8, boxes (None, 4) float32"""
    rows = [f"{row['name']} {format_shape(as_shape(row['shape']))} {row['dtype']}".strip() for row in components[:MAX_KEYS]]
    return ", ".join(rows) + (", …" if len(components) > MAX_KEYS else "")


def format_shape(shape: Shape | None) -> str:
    """(4, None, 3), as Keras writes it."""
    if shape is None:
        return "of unknown shape"
    inside = ", ".join("None" if side is None else str(side) for side in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def shorten_text(text: str, most: int = MAX_LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def join_lines(source: tuple[str, ...], at: int) -> str:
    """A statement in one line; where that is too long, its line of this number."""
    whole = " ".join(line.strip() for line in source)
    return shorten_text(whole if len(whole) <= MAX_LETTERS // 2 or not 0 <= at < len(source) else source[at].strip())


def _is_named(function: str) -> bool:
    return not function.startswith("<")


# --- shapes ---


def as_shape(sides: Any) -> Shape | None:
    return tuple(None if side is None or side < 0 else int(side) for side in sides) if isinstance(sides, (list, tuple)) else None


def parse_shapes(text: str) -> list[Shape]:
    """Those that a message names, in its order: (None, 3), [2,4], torch.Size([2, 4]), 4x1568."""
    found: list[tuple[int, Shape]] = []
    for match in _SHAPE.finditer(text):
        sides = [side.strip() for side in match["sides"].split(",") if side.strip()]
        if not sides and not match["name"] and text[: match.start()][-1:].isalnum():
            continue  # a call
        found.append((match.start(), tuple(int(side) if side.isdigit() else None for side in sides)))
    for match in _PRODUCT.finditer(text):
        found.append((match.start(), tuple(int(side) for side in match[1].split("x"))))
    return [shape for _, shape in sorted(found, key=lambda pair: pair[0])]
