"""The line of a table on which a class number stands that the model has no output for, looked for after the error.

A column of whole numbers that holds it, above or below all the others, is that of the classes; where two columns may be, none is.
"""

from __future__ import annotations

import csv
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from unstall.journal.events import ErrorRaised, LabelFound
from unstall.sensors.data_paths import read_text, read_texts

SUFFIXES = frozenset({".csv", ".tsv", ".txt"})
MIN_ROWS = 4
MAX_ROWS = 2_000_000
_REFUSED = re.compile(
    r"Target (?P<torch>-?\d+) is out of bounds|label value of (?P<tensorflow>-?\d+) which is outside the valid range"
)
_QUOTED = re.compile(r"^(?P<quote>['\"])(?P<path>[^'\"\n]+)(?P=quote)$")


def look(error: ErrorRaised, lines: Iterable[dict[str, Any]], command: Sequence[str], folder: str) -> LabelFound | None:
    """`lines`: the program's own lines, with the values that they used. None if it stands nowhere, or it cannot be told where."""
    refused = _REFUSED.search(error.message)
    if refused is None:
        return None
    number = int(refused["torch"] or refused["tensorflow"])
    texts = {os.path.realpath(path): text for path, text in (*read_texts(command, folder), *_in_values(lines, folder))}
    found = [
        LabelFound(at=time.time(), path=path, line=rows[0], value=number, times=len(rows))
        for path, text in texts.items()
        if Path(path).suffix.lower() in SUFFIXES
        for rows in _columns_with(number, text)
    ]
    return found[0] if len(found) == 1 else None


def _in_values(lines: Iterable[dict[str, Any]], folder: str) -> Iterator[tuple[str, str]]:
    """Text files that the program's values name."""
    values = (value for line in lines for key in ("values", "origins") for value in line.get(key) or ())
    for value in values:
        named = _QUOTED.match(str(value.get("text") or ""))
        if named is not None and Path(named["path"]).suffix.lower() in SUFFIXES:
            path = os.path.normpath(Path(folder, named["path"]))
            text = read_text(path)
            if text is not None:
                yield path, text


def _columns_with(number: int, text: str) -> Iterator[list[int]]:
    """The lines on which it stands, for each column of which it is the outermost."""
    lines = text.splitlines()[:MAX_ROWS]
    delimiter = max(",;\t ", key=lambda each: sum(line.count(each) for line in lines[:100]))
    try:
        rows = [(line, row) for line, row in enumerate(csv.reader(lines, delimiter=delimiter), 1) if row]
    except csv.Error:
        return
    for index in range(max((len(row) for _, row in rows), default=0)):
        values = [(line, _whole(row[index])) for line, row in rows if index < len(row)]
        known = [(line, value) for line, value in values if value is not None]
        if len(known) < max(MIN_ROWS, len(values) - 1):  # one row may be that of the names
            continue
        others = [value for _, value in known if value != number]
        stands = [line for line, value in known if value == number]
        if stands and len(others) >= len(stands) and (number > max(others) or number < min(others)):
            yield stands


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
