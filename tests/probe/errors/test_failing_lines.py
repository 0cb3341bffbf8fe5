"""failing_lines: what is written down of the program's own lines, and that none of its code is called for it."""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unstall.probe.errors.failing_lines import inspect_calls, inspect_lines
from unstall.probe.errors.values import describe_named, describe_value

NEEDS_POSITIONS = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python tells the failing expression since 3.11")


def fail(folder: Path, source: str, **names: Any) -> list[dict[str, Any]]:
    """The lines of a program that ends with an error, as they are written down."""
    path = folder / "program.py"
    path.write_text(source)
    linecache.checkcache()
    try:
        exec(compile(source, str(path), "exec"), {"__name__": "program", **names})
    except Exception as error:  # whatever the program ends with
        lines = inspect_lines(error.__traceback__, time.monotonic() + 30)
    else:
        raise AssertionError("The program should have failed.")
    return [row for row in lines if row["file"] == str(path)]


def value(row: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in [*row["values"], *row["arguments"]] if each["name"] == name)


def test_the_lines_are_told_outermost_first_with_the_values_that_they_use(tmp_path: Path) -> None:
    lines = fail(
        tmp_path,
        "def area(box, scale):\n    width = box[2] - box[0]\n    return width * scale['x']\n\nboxes = [[1, 2, 3, 4]]\narea(boxes[0], {'y': 2})\n",
    )
    assert [(row["line"], row["function"]) for row in lines] == [(6, "<module>"), (3, "area")]
    assert lines[1]["source"] == ["    return width * scale['x']"]
    assert value(lines[1], "scale") == {
        "name": "scale", "missing": "scale['x']", "type": "dict", "length": 1, "keys": ["y"], "in_failing": True, "is_argument": True,
        "items": [{"type": "int", "text": "2"}], "numbers": [2, 2],
    }  # fmt: skip
    assert value(lines[1], "box")["length"] == 4  # an argument that the line does not use
    assert (value(lines[1], "width")["made_at"], value(lines[1], "width")["made_by"]) == (2, ["    width = box[2] - box[0]"])


def test_what_a_with_statement_opened_is_followed_to_what_was_opened(tmp_path: Path) -> None:
    program = (
        "import io\n"
        "def load(path):\n"
        "    with io.StringIO(path) as file:\n"
        "        text = file.read()\n"
        "    return int(text)\n"
        "load('a.txt')\n"
    )
    row = fail(tmp_path, program)[-1]
    origins = {each["name"]: each for each in row["origins"]}
    assert origins["file"]["made_by"] == ["    with io.StringIO(path) as file:"]
    assert origins["path"]["text"] == "'a.txt'"


@NEEDS_POSITIONS
def test_the_expression_that_failed_is_told_apart(tmp_path: Path) -> None:
    (row,) = fail(tmp_path, "a, b, c = 1, 0, 'text'\nprint(c, a / b)\n")
    assert {each["name"]: each["in_failing"] for each in row["values"]} == {"a": True, "b": True, "c": False}


def test_the_element_that_a_loop_was_at_is_told(tmp_path: Path) -> None:
    lines = fail(
        tmp_path,
        "def read(path):\n    raise OSError(path)\n\nfor number, path in enumerate(['a.jpg', 'b.jpg']):\n    if number:\n        read(path)\n",
    )
    (loop,) = lines[0]["loops"]
    assert [(each["name"], each["text"]) for each in loop["values"]] == [("number", "1"), ("path", "'b.jpg'")]
    assert lines[1]["statement"] == "Raise"


def test_arrays_are_told_by_shape_dtype_and_range(tmp_path: Path) -> None:
    (row,) = fail(tmp_path, "x = np.arange(6, dtype='float32').reshape(2, 3)\nx @ x\n", np=np)
    assert {key: value(row, "x")[key] for key in ("shape", "dtype", "min", "max")} == {
        "shape": [2, 3], "dtype": "float32", "min": 0.0, "max": 5.0,
    }  # fmt: skip


def test_no_code_of_the_program_is_called(tmp_path: Path) -> None:
    source = """\
class Hostile(dict):
    def _called(self, *args, **kwargs):
        calls.append(1)
        raise KeyboardInterrupt
    __repr__ = __str__ = __len__ = __iter__ = __getitem__ = __getattr__ = __eq__ = __bool__ = keys = items = _called
    __hash__ = None
    @property
    def shape(self):
        calls.append(2)

class Plain:
    def __getattr__(self, name):
        calls.append(3)
    def __repr__(self):
        calls.append(4)
        return "x"
    @property
    def row(self):
        calls.append(5)

calls = []
hostile, plain = Hostile(a=1), Plain()
plain.inner = Hostile(b=2)
pair = [hostile, plain]
undefined(hostile, plain, plain.row, plain.inner, pair)
"""
    globals_: dict[str, Any] = {}
    (row,) = fail(tmp_path, source.replace("calls = []\n", ""), calls=globals_.setdefault("calls", []))
    assert globals_["calls"] == []
    assert value(row, "hostile")["keys"] == ["a"]
    assert value(row, "plain")["type"] == "program.Plain"


def test_a_long_traceback_is_told_by_its_begin_and_its_end(tmp_path: Path) -> None:
    lines = fail(tmp_path, "def f(n):\n    return 1 / 0 if n == 0 else f(n - 1)\n\nf(200)\n")
    assert len(lines) == 11  # one of the twelve is this test's own
    assert lines[0]["line"] == 4
    assert value(lines[-1], "n")["text"] == "0"


def test_a_source_that_is_gone_or_does_not_fit_costs_only_the_values(tmp_path: Path) -> None:
    path = tmp_path / "gone.py"
    code = compile("def f():\n    return 1 / 0\nf()\n", str(path), "exec")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code, {})
    rows = [row for row in inspect_lines(caught.value.__traceback__, time.monotonic() + 30) if row["file"] == str(path)]
    assert [row["line"] for row in rows] == [3, 2]


def test_the_arguments_of_the_library_that_raised_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broadcast") as caught:
        np.broadcast_to(np.zeros(3), (2, 2))
    rows = inspect_calls(caught.value.__traceback__, time.monotonic() + 30)
    assert any(each["name"] == "array" and each["shape"] == [3] for row in rows for each in row["values"])


def described(make: Callable[[], Any]) -> dict[str, Any]:
    return describe_value(make(), time.monotonic() + 30)


def test_the_different_shapes_of_a_list_are_told_with_the_first_of_each() -> None:
    facts = described(lambda: [np.zeros((2, 4)), np.zeros((1, 4)), np.zeros((2, 4))])
    assert facts["shapes"] == [{"shape": [2, 4], "first": 0, "count": 2}, {"shape": [1, 4], "first": 1, "count": 1}]


def test_time_that_is_up_ends_the_look_at_numbers() -> None:
    assert "min" not in describe_value(np.zeros(3), time.monotonic() - 1)
    assert describe_value([[[1, 2]], [[3, 4]]], time.monotonic() + 30)["shapes"]
    assert "shapes" not in describe_value([[[1, 2]], [[3, 4]]], time.monotonic() - 1)


def test_a_text_is_cut_and_a_huge_number_is_not_written_out() -> None:
    assert len(described(lambda: "x" * 10_000)["text"]) < 200
    assert "text" not in described(lambda: 10**5000)


def test_what_led_to_a_value_is_told_with_its_statements(tmp_path: Path) -> None:
    source = "rows = [1.0, 2.0]\nrows = tuple(rows)\nscale = 3\ntotal = sum(rows) * scale\ntotal.backward()\n"
    (row,) = fail(tmp_path, source)
    assert [(each["name"], each["made_at"]) for each in row["origins"]] == [("scale", 3), ("rows", 2), ("rows", 1)]
    assert row["origins"][1]["length"] == 2
    replaced = row["origins"][2]
    assert (replaced["replaced"], replaced["made_by"]) == (True, ["rows = [1.0, 2.0]"])
    assert "length" not in replaced and replaced["now"]["type"] == "tuple"


def test_of_a_secret_it_is_told_that_it_is_there(tmp_path: Path) -> None:
    source = (
        "def login(user, password, settings):\n"
        "    raise ValueError(password + settings['api_key'])\n"
        "login('me', 'pw-' + '1', {'api_key': 'k-' + '2', 'passwords': ['p-' + '3'], 'batch': '16'})\n"
    )
    row = fail(tmp_path, source)[-1]
    assert value(row, "password")["text"] == value(row, "settings['api_key']")["text"] == "•••"
    assert value(row, "user")["text"] == "'me'"
    (described,) = inspect_values({"settings": {"api_key": "k-2", "passwords": ["p-3"], "batch": "16"}})
    assert not any(secret in str(described) for secret in ("k-2", "p-3")) and "'16'" in str(described)


def inspect_values(names: dict[str, Any]) -> list[dict[str, Any]]:
    return [describe_named(name, value, time.monotonic() + 30) for name, value in names.items()]


@pytest.mark.parametrize(
    ("value", "shapes"),
    [
        ([[[0, 1]], [[0, 1], [2, 3]]], [[1, 2], [2, 2]]),
        ([[1, 2, 3], [4.5]], [[3], [1]]),
        (([1, 2], [3, 4]), [[2]]),
        ([["a", "b"], ["c"]], []),
        ([[1, [2]], [3]], []),
        ([1, 2, 3], []),
    ],
)
def test_lists_of_numbers_have_the_shapes_of_the_arrays_that_they_would_make(value: Any, shapes: list[list[int]]) -> None:
    found = describe_value(value, time.monotonic() + 30)
    assert [row["shape"] for row in found.get("shapes", [])] == shapes
