"""The history of a run as CSV: a row for each epoch. Written whole, as the checkpoint has it, so that no row comes twice."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from unstall.runs import write_whole
from unstall.training.position import Row


def write(path: Path, rows: Sequence[Row]) -> None:
    """A disk that refuses is an OSError."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())
