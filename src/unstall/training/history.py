"""The history of a run as CSV: a row for each epoch. A run that goes on writes it anew, as its checkpoint has it, and then adds
to it: no row comes twice, and none that was never finished stays."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from unstall.private_files import write_whole
from unstall.training.position import Row


class History:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._rows = 0  # that are in the file

    def write(self, rows: Sequence[Row]) -> None:
        """All of them; those before the last are there already, mostly. A disk that refuses is an OSError."""
        there, self._rows = self._rows, 0  # until this has gone well: after a disk that was full it is written anew
        columns = list(dict.fromkeys([*self._columns, *(name for row in rows[there:] for name in row)]))
        if there and columns == self._columns:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_text(columns, rows[there:]))
        else:
            columns = list(dict.fromkeys(name for row in rows for name in row))
            write_whole(self._path, ",".join(columns) + "\n" + _text(columns, rows))
        self._columns, self._rows = columns, len(rows)


def _text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, columns, lineterminator="\n").writerows(rows)
    return text.getvalue()
