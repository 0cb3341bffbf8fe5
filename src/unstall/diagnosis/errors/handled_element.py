"""Which element a program was at when an error came, by its data set or its loops."""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.errors.failures import Failure, Value, describe_value


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
            values = [each for each in loop["values"] if "text" in each or _list_fields(each)]
            if any(not _is_count(Value(each["name"], each), line.code) for each in values):
                return " and ".join(f"`{each['name']}` = {_list_fields(each) or describe_value(each)}" for each in values[:2])
    return ""


def _list_fields(facts: dict[str, Any]) -> str:
    """{'file': 'a.jpg', 'label': 'bus'}: of a dict of a few texts and numbers, as a row of a table is."""
    keys, items = facts.get("keys") or [], facts.get("items") or []
    if not 0 < len(keys) == len(items) == facts.get("length") or any("text" not in item for item in items):
        return ""
    pairs = [f"{key!r}: {item['text']}" for key, item in zip(keys, items, strict=True)]
    return f"{{{', '.join(pairs)}}}"


def _is_count(value: Value, code: str) -> bool:
    """A number of an epoch or a step, which the line does not use."""
    return value.facts.get("type") == "int" and re.search(rf"\b{re.escape(value.name)}\b", code) is None
