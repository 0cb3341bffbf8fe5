"""What the causes of errors say in one form: the line that raised it with its values, what led there, and the error itself."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.errors.failures import Failure, Maker, UserLine, Value, as_shape, format_shape, join_lines
from unstall.diagnosis.verdict import Certainty, Evidence, Found, LineChange
from unstall.journal.stack_frames import format_place, is_user_file

MAX_VALUES = 4  # of a line, in a sentence
MAX_CALLERS = 2
MAX_LINES = 3  # of one part


@dataclass(frozen=True)
class Explanation:
    """What a cause says of an error, before it becomes a finding."""

    summary: str
    actions: tuple[str, ...]
    where: str | None = None
    claims: tuple[str, ...] = ()
    changes: tuple[LineChange, ...] = ()


def create_found(
    failure: Failure,
    summary: str,
    actions: tuple[str, ...],
    claims: tuple[str, ...] = (),
    where: str | None = None,
    changes: tuple[LineChange | None, ...] = (),
    certainty: Certainty = Certainty.CERTAIN,
) -> Found:
    """`where` is the line that must change; without it, the innermost line of the user's own."""
    raised = failure.raised
    rows = [describe_line(raised)] if raised is not None else []
    rows += [*claims, f"the error that ended it: {failure.text.line}"]
    return Found(
        certainty=certainty,
        summary=summary,
        evidence=tuple(Evidence(row, None, None, failure.events) for row in rows),
        actions=actions,
        where=where or (raised.where if raised is not None else None),
        changes=tuple(change for change in changes if change is not None),
    )


def describe_failure(failure: Failure, *claims: str) -> tuple[Evidence, ...]:
    """The claims of a cause; then what is true of every error."""
    rows = list(claims)
    raised, layer = failure.raised, failure.layer
    if layer is not None and layer.where and layer.code:
        rows.append(f"{layer.words} was made at {layer.where}: {layer.code}")
    if raised is not None:
        rows.append(describe_line(raised))
        made = [raised.find_maker(value) for value in find_failing_values(raised) if value.is_array]
        rows += [f"`{maker.name}` was given its value at {maker.where}: {maker.code}" for maker in made if maker is not None][:2]
    rows += [f"called from {describe_line(line)}" for line in failure.lines[:-1][::-1][:MAX_CALLERS]]
    rows.append(f"the error that ended it: {failure.text.line}")
    return tuple(Evidence(row, None, None, failure.events) for row in dict.fromkeys(rows))


def describe_line(line: UserLine) -> str:
    """train.py:43 in load: return a + b, with `a`: float32 tensor (3,), `b`: 5"""
    shown = sorted(find_failing_values(line), key=lambda value: not value.is_array)[:MAX_VALUES]
    values = ", ".join(value.text for value in (shown or line.arguments[:MAX_VALUES]))
    said = f"{line.place_in_words}: {line.code}" if line.code else line.place_in_words
    return f"{said}, with {values}" if values else said


def find_failing_values(line: UserLine) -> list[Value]:
    """Those in the expression that failed, where Python tells it; else all of the line."""
    values = [value for value in line.values if value.words]
    return [value for value in values if value.is_in_failing] or values


def find_failing_arrays(failure: Failure) -> list[Value]:
    raised = failure.raised
    return [value for value in find_failing_values(raised) if value.shape is not None] if raised is not None else []


def are_operands(failure: Failure, values: list[Value]) -> bool:
    """Whether one operation of the line has just these names on its two sides, or a call has them as arguments."""
    raised, names = failure.raised, [value.name for value in values]
    try:
        text = textwrap.dedent("\n".join(raised.source)) if raised is not None else ""
        tree = ast.parse(f"{text}\n    pass" if text.rstrip().endswith(":") else text)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call):
            listed = [each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each] for each in node.args]
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            parts = [*owner, *(part for row in listed for part in row)]
        if set(names) <= {ast.unparse(part) for part in parts}:
            return True
    return False


def describe_insides(values: Sequence[Value]) -> tuple[str, ...]:
    """For values that a function of the program's returned: the lines of that function that make them."""
    rows: dict[tuple[str, str], list[str]] = {}
    for value in values:
        lines = value.facts.get("made_in") or ()
        if lines:
            rows.setdefault((str(value.facts.get("made_with", "")), list_lines(lines, value.folder)), []).append(
                f"`{value.name}`"
            )
    return tuple(f"{function}() makes {' and '.join(names)} at {listed}" for (function, listed), names in rows.items())


def describe_outer_makers(failure: Failure) -> tuple[str, ...]:
    """Of the dicts and lists of the failing line that came in as arguments: the lines outside that made them."""
    raised, rows = failure.raised, []
    names = [value.name for value in (raised.values if raised is not None else ()) if value.facts.get("is_argument")]
    for line in reversed(failure.own_lines[:-1]):
        for value in line.values:
            maker = line.find_maker(value) if value.name in names and not value.is_array else None
            if maker is not None:
                names.remove(value.name)
                rows += [f"`{maker.name}` was given its value at {maker.where}: {maker.code}", *describe_insides([value])]
    return tuple(rows)


def list_lines(lines: Sequence[dict[str, Any]], folder: str) -> str:
    """windows.py:18: for start in range(9): · windows.py:19: inputs.append(start)"""
    said = []
    for line in lines[:MAX_LINES]:
        file, _, number = line["where"].rpartition(":")
        said.append(f"{format_place(file, int(number), folder)}: {join_lines((line['source'],), 0)}")
    return " · ".join(said)


def describe_elements(failure: Failure) -> tuple[str, ...]:
    """Where the parts of the elements of a DataLoader are made, in the method of the data set that gives them."""
    maker = failure.maker("elements")
    parts = maker.facts.get("parts") or [] if maker is not None else []
    if maker is None or not any(parts):
        return ()
    head = f"an element of the data set comes from {maker.name} at {maker.where}"
    if len(parts) == 1:
        return (f"{head}, made at {list_lines(parts[0], maker.folder)}",)
    listed = [f"part {at} is made at {list_lines(lines, maker.folder)}" for at, lines in enumerate(parts, 1) if lines]
    return (f"{head}: {'; '.join(listed)}",)


def describe_dtype(failure: Failure) -> tuple[str, Maker | None]:
    """Which line makes an array float64, and why; empty where that is not known."""
    maker = failure.maker("dtype")
    if maker is None or not maker.where:
        return "", None
    shape, operands = format_shape(as_shape(maker.facts["shape"])), maker.facts.get("operands") or []
    made = maker.facts["maker"]
    if made:
        verb = "are" if made.startswith("the ") else "gives"
        why = f"at {maker.where}: {made} {verb} float64 where no dtype is given"
    else:
        names, several = " and ".join(f"`{name}`" for name in operands), len(operands) > 1
        why = f"at {maker.where} with {names}, which {'are' if several else 'is'} float64, and so is what NumPy computes with "
        why += "them" if several else "it"
    return f"`{maker.name}` {shape} is float64, which it becomes {why}", maker


_SAME_ELEMENTS = ("Shuffle", "Repeat", "Prefetch", "Cache", "Take", "Skip", "Options", "Filter")


def name_components(failure: Failure, stage: Maker | None, count: int) -> list[str]:
    """What the function of the last map before a stage calls the parts of what it returns; empty where that is not known."""
    stages = failure.stages
    at = next((at for at, each in enumerate(stages) if stage is not None and each.facts is stage.facts), len(stages))
    for before in reversed(stages[:at]):
        names = before.facts.get("returns") or []
        if names:
            return list(names) if len(names) == count else []
        if not before.facts["name"].startswith(_SAME_ELEMENTS):
            break
    return []


def rename_by_own_name(value: Value, own: list[Value]) -> Value:
    """Called as the one value of the line is called that has its shape; else without a name."""
    same = [each for each in own if each.shape == value.shape]
    return same[0] if len(same) == 1 else Value("", value.facts)


def is_called_by_keras(failure: Failure) -> bool:
    """Whether Keras called the function of the program's own in which the error arose: a loss, a metric, a layer, a callback."""
    frames = failure.error.frames
    inner = next((at for at, frame in enumerate(frames) if is_user_file(frame["file"])), len(frames))
    return any("/keras/" in frame["file"] or "/tf_keras/" in frame["file"] for frame in frames[inner + 1 :])


def as_maker(line: UserLine) -> Maker:
    """The line itself, for a change of it."""
    return Maker("line", "", line.where, line.source, line.first, {}, line.folder)


MAX_SEEN_WHOLE = 262_144  # of a larger array only a sample was looked at


def find_whole_numbers(failure: Failure, number: int) -> Value | None:
    """The one array of whole numbers, in the lines at hand or in what led to them, whose range has this number."""
    values = [value for line in failure.own_lines for value in (*line.values, *line.origins)]
    found = {value.name: value for value in reversed(values) if _reaches(value, number)}
    return next(iter(found.values())) if len(found) == 1 else None


def _reaches(value: Value, number: int) -> bool:
    least, most, sides = value.facts.get("min"), value.facts.get("max"), [side or 0 for side in value.shape or ()]
    is_whole = value.is_array and value.dtype.startswith(("int", "uint")) and bool(sides)
    if not is_whole or math.prod(sides) > MAX_SEEN_WHOLE or least is None or most is None or value.facts.get("replaced"):
        return False
    if least == 0 and [most + 1] == sides:
        return False  # an order of examples, or their numbers
    return bool(most >= number >= least) and number in value.facts.get("distinct", [number])


def describe_numbers(value: Value) -> str:
    """`labels` holds 1, 3 and 7; `ids` goes from 1 to 120"""
    distinct = [str(each) for each in value.facts.get("distinct") or []]
    if len(distinct) > 1:
        return f"`{value.name}` holds {', '.join(distinct[:-1])} and {distinct[-1]}"
    return f"`{value.name}` goes from {value.facts['min']:.0f} to {value.facts['max']:.0f}"
