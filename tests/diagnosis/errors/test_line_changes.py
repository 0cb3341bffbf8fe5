"""line_changes: the user's own line is changed where it is sure which call is meant, and nowhere else."""

from __future__ import annotations

import ast
import textwrap

import pytest

from unstall.diagnosis.errors.failures import Maker
from unstall.diagnosis.errors.line_changes import add_argument, rename_call, replace_argument, replace_text
from unstall.diagnosis.verdict import LineChange


def made(*source: str) -> Maker:
    return Maker("batch", "", "train.py:20", source, 20, {})


def after(change: LineChange | None) -> str | None:
    return change.after[0] if change is not None else None


def test_the_line_that_changes_is_told_with_its_number_and_its_indentation() -> None:
    change = rename_call(
        made("    data = (", "        rows.map(load)", "        .batch(16)", "    )"), "batch", "padded_batch", "if"
    )
    assert change == LineChange("train.py:22", ("        .batch(16)",), ("        .padded_batch(16)",), "if")


@pytest.mark.parametrize("source", [("a.batch(2).batch(2)",), ("a.take(2)",), (), ("a.batch(2",), ("a.batch",)])
def test_no_call_is_renamed_where_it_is_not_sure_which_is_meant(source: tuple[str, ...]) -> None:
    assert rename_call(made(*source), "batch", "ragged_batch") is None


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("loader = DataLoader(rows)", "loader = DataLoader(rows, collate_fn=list)"),
        ("    loader = data.DataLoader(rows, batch_size=4)", "    loader = data.DataLoader(rows, batch_size=4, collate_fn=list)"),
        ("loader = DataLoader(rows,)", "loader = DataLoader(rows, collate_fn=list)"),
        ("loader = DataLoader()", "loader = DataLoader(collate_fn=list)"),
        ("a(DataLoader(rows), 3)", "a(DataLoader(rows, collate_fn=list), 3)"),
        ("loader = DataLoader(größe)  # für alle", "loader = DataLoader(größe, collate_fn=list)  # für alle"),
        ("loader = DataLoader(rows, collate_fn=join)", None),
        ("loader = DataLoader(rows, **options)", None),
        ("loader = DataLoader(", None),
    ],
)
def test_an_argument_is_added(source: str, changed: str | None) -> None:
    assert after(add_argument(made(source), "DataLoader", "collate_fn=list")) == changed


@pytest.mark.parametrize(
    ("source", "argument", "changed"),
    [
        ("self.head = nn.Linear(100, 10)", 0, "self.head = nn.Linear(1568, 10)"),
        ("self.head = nn.Linear(in_features=100, out_features=10)", "in_features", "self.head = nn.Linear(in_features=1568, out_features=10)"),
        ("self.head = nn.Linear(a * b, 10)", 0, "self.head = nn.Linear(1568, 10)"),
        ("self.head = nn.Linear(*sizes)", 0, None),
        ("self.head = nn.Linear(100)", 1, None),
    ],
)  # fmt: skip
def test_an_argument_is_replaced(source: str, argument: int | str, changed: str | None) -> None:
    assert after(replace_argument(made(source), "Linear", argument, "1568")) == changed


def test_what_is_changed_can_still_be_read_by_python() -> None:
    for source in ("x = f(1, 2)", "  x = f(a, b=f2(c))", "x = [f(1) for y in z]"):
        change = add_argument(made(source), "f", "new=3")
        assert change is not None
        ast.parse(textwrap.dedent(change.after[0]))


def test_a_text_is_replaced_that_stands_there_once() -> None:
    compiled = made("model.compile(", '    "adam", "categorical_crossentropy")')
    assert (
        after(replace_text(compiled, '"categorical_', '"sparse_categorical_')) == '    "adam", "sparse_categorical_crossentropy")'
    )
    assert replace_text(compiled, "mse", "mae") is None
    assert replace_text(made("f(a, a)"), "a", "b") is None
