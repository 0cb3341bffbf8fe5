"""Which element a program was at when an error came, by its data set or its loops, and which key a dictionary lacks."""

from __future__ import annotations

import ast
import difflib
import re

from unstall.diagnosis.errors.evidence import find_failing_values
from unstall.diagnosis.errors.failures import Failure, Value

MAX_KEYS = 12


def describe_element(failure: Failure) -> str:
    """element 41 of 64: `self.paths[41]` = 'a.jpg'; or `path` = 'a.jpg', what the innermost loop around the line stood at."""
    example = failure.maker("example")
    if example is not None:
        number, made = example.facts["index"], example.facts.get("from")
        length = example.facts.get("length")
        source = Value(made["name"], made) if made else None
        of = f" of {length:,}" if length else ""
        given = f" (`{source.name}` = {source.words})" if source is not None and source.words else ""
        return f"element {number:,}{of}{given}"
    for line in reversed(failure.own_lines):
        for loop in reversed(line.loops):
            values = [Value(each["name"], each) for each in loop["values"] if "text" in each]
            if any(not _is_count(value, line.code) for value in values):
                return " and ".join(f"`{value.name}` = {value.words}" for value in values[:2])
    return ""


def _is_count(value: Value, code: str) -> bool:
    """A number of an epoch or a step, which the line does not use."""
    return value.facts.get("type") == "int" and re.search(rf"\b{re.escape(value.name)}\b", code) is None


def describe_missing_key(failure: Failure) -> tuple[str, str]:
    """The dictionary of the line that does not have the key of a KeyError, and its name."""
    if failure.text.kind.rpartition(".")[2] != "KeyError" or failure.raised is None:
        return "", ""
    try:
        key = ast.literal_eval(failure.text.message)
    except (SyntaxError, ValueError):
        return "", ""
    values = [value for value in find_failing_values(failure.raised) if "keys" in value.facts]
    lacking = [value for value in values if len(value.facts["keys"]) == value.facts["length"] and key not in value.facts["keys"]]
    if len(lacking) != 1 or type(key) not in (str, int):
        return "", ""
    name, keys = lacking[0].name, lacking[0].facts["keys"]
    shown = ", ".join(map(repr, keys[:MAX_KEYS])) + (", …" if len(keys) > MAX_KEYS else "")
    has = f"its keys are {shown}" if len(keys) > 1 else f"its one key is {shown}" if keys else "it is empty"
    near = [each for each in keys if type(each) is str and type(key) is str and each.strip().lower() == key.strip().lower()]
    close = difflib.get_close_matches(str(key), [str(each) for each in keys], 1, 0.75)
    like = (
        f" {near[0]!r} differs from it only in capitals or blanks." if near else f" The nearest is {close[0]!r}." if close else ""
    )
    return f" `{name}` has no key {key!r}: {has}.{like}", name
