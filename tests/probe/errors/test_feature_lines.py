"""The lines that name the feature of a record which a parser asks for."""

from __future__ import annotations

import sys
from pathlib import Path

from unstall.probe.errors.makers import _lines_with_key

DESCRIBED = {"image/objects": "FixedLenFeature([], tf.int64)"}
USED = DESCRIBED["image/objects"]


def lines_for(message: str) -> list[str]:
    try:
        raise ValueError(message)
    except ValueError:
        traceback = sys.exc_info()[2]
    rows = [row for row in _lines_with_key(message, traceback) if row["where"].startswith(__file__)]  # not those of other tests
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    return [source[int(row["where"].rpartition(":")[2]) - 1] for row in rows]


def test_the_line_that_describes_the_feature_is_first() -> None:
    found = lines_for("Feature: image/objects (data type: int64) is required but could not be found.")
    assert found[0].startswith("DESCRIBED = ")
    assert found[1].startswith("USED = ")


def test_nothing_is_looked_for_where_no_feature_is_named() -> None:
    assert lines_for("row 5 has no label") == []
