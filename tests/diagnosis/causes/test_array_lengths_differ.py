"""array_lengths_differ: the lengths by name, and where the lists began."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import array_lengths_differ
from unstall.diagnosis.verdict import Clear, Found, Unknown

BEGAN = {"made_at": 21, "made_by": ["paths, boxes = [], []"], "in_failing": True}
CALL: list[dict[str, Any]] = [
    {"file": "x.py", "line": 1, "function": "from_tensor_slices", "values": [{"name": "tensors", "type": "tuple"}]}
]
DIMENSIONS = "Dimensions 30 and 33 are not compatible"


def listed(name: str, length: int) -> dict[str, Any]:
    return {"name": name, "type": "list", "length": length, **BEGAN}


def test_found_with_the_lengths_and_where_the_lists_began() -> None:
    row = line(37, "ds = Dataset.from_tensor_slices((paths, boxes))", listed("paths", 30), listed("boxes", 33))
    verdict = array_lengths_differ.examine(failed("ValueError", DIMENSIONS, row, calls=CALL))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:37"
    assert verdict.summary.endswith("`paths` has 30, `boxes` has 33.")
    assert "`paths` and `boxes` began at train.py:21: paths, boxes = [], []" in [each.claim for each in verdict.evidence]


@pytest.mark.parametrize(
    "message",
    [
        "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples.'x' sizes: 100\n'y' sizes: 99\n",
        "Data cardinality is ambiguous:\n  x sizes: 100\n  y sizes: 99\nMake sure all arrays contain the same number of samples.",
        "Found input variables with inconsistent numbers of samples: [100, 99]",
    ],
    ids=["Keras 3", "Keras 2", "scikit-learn"],
)
def test_found_by_the_rows_of_arrays(message: str) -> None:
    verdict = array_lengths_differ.examine(
        failed("ValueError", message, line(5, "fit(x, y)", array("x", [100, 4]), array("y", [99])))
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("`x` has 100, `y` has 99.")


def test_found_without_names_where_the_values_are_not_seen() -> None:
    verdict = array_lengths_differ.examine(failed("ValueError", DIMENSIONS, line(37, "make(rows)"), calls=CALL))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("Two of the lengths are 30 and 33.")


@pytest.mark.parametrize("message", [DIMENSIONS, "row 5 has no label"])
def test_clear_of_other_errors(message: str) -> None:
    row = line(37, "f(a, b)", listed("a", 30), listed("b", 33))
    assert isinstance(array_lengths_differ.examine(failed("ValueError", message, row)), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(array_lengths_differ.examine(unseen()), Unknown)


def test_the_lines_inside_the_function_that_made_them_are_shown_and_other_arrays_left_out() -> None:
    inside = [{"where": f"{FOLDER}/windows.py:18", "source": "for start in range(len(series)):"}]
    made = {"made_in": inside, "made_with": "sliding"}
    row = line(5, "fit(x, y, (v, w))", array("x", [100, 4], **made), array("y", [99]), array("v", [20, 4]), array("w", [18]))
    message = (
        "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples.'x' sizes: 100\n'y' sizes: 99\n"
    )
    verdict = array_lengths_differ.examine(failed("ValueError", message, row))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("`x` has 100, `y` has 99.")
    claims = [each.claim for each in verdict.evidence]
    assert "sliding() makes `x` at windows.py:18: for start in range(len(series)):" in claims


@pytest.mark.parametrize(
    ("horizon", "words"), [("6", "`horizon` - 1 (horizon is 6)"), ("5", "`horizon` (horizon is 5)"), ("9", "")]
)
def test_a_number_that_is_as_large_as_the_difference_is_named_with_the_loop(horizon: str, words: str) -> None:
    inside = [{"where": f"{FOLDER}/windows.py:18", "source": "for start in range(len(series) - lookback):"}]
    other = [{"where": f"{FOLDER}/windows.py:20", "source": "for end in range(lookback + horizon - 1, len(series)):"}]
    x = array("x", [696, 24], made_in=inside, made_with="sliding")
    y = array("y", [691], made_in=other, made_with="sliding")
    origins = [{"name": "lookback", "type": "int", "text": "24"}, {"name": "horizon", "type": "int", "text": horizon}]
    message = (
        "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples.'x' sizes: 696\n'y' sizes: 691\n"
    )
    verdict = array_lengths_differ.examine(failed("ValueError", message, line(5, "fit(x, y)", x, y, origins=origins)))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith(f"`x` has 5 more than `y`, as many as {words}." if words else "`x` has 696, `y` has 691.")
    assert ("windows.py:18, which makes `x`, make 5 fewer" in verdict.actions[0]) is bool(words)
    changed = {"6": " - (horizon - 1)", "5": " - horizon"}.get(horizon)
    expected = [(f"for start in range(len(series) - lookback{changed}):",)] if changed else []
    assert [change.after for change in verdict.changes] == expected


def test_a_number_that_the_function_of_the_loop_does_not_know_is_not_written_into_it() -> None:
    inside = [{"where": f"{FOLDER}/windows.py:18", "source": "for start in range(count):"}]
    x, y = array("x", [696, 24], made_in=inside, made_with="sliding"), array("y", [691])
    origins = [{"name": "args.horizon", "type": "int", "text": "6"}]
    message = "Data cardinality is ambiguous.'x' sizes: 696\n'y' sizes: 691\n"
    verdict = array_lengths_differ.examine(failed("ValueError", message, line(5, "fit(x, y)", x, y, origins=origins)))
    assert isinstance(verdict, Found)
    assert verdict.changes == ()
