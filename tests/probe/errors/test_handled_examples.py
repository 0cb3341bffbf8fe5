"""handled_examples: the element that a data set was making, and the numbers that all elements hold under a key."""

from __future__ import annotations

import linecache
import time
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.errors.handled_examples import find_example, list_numbers

ROWS = (
    "class Rows:\n"
    "    def __init__(self, paths):\n"
    "        self.paths = paths\n"
    "    def __getitem__(self, index):\n"
    "        path = self.paths[index]\n"
    "        return {'a': 1}[path]\n"
)


def run(folder: Path, program: str, **names: Any) -> dict[str, Any]:
    path = folder / "program.py"
    path.write_text(program)
    linecache.checkcache()
    space: dict[str, Any] = {"__name__": "program", **names}
    exec(compile(program, str(path), "exec"), space)
    return space


def example(folder: Path, program: str) -> list[dict[str, Any]]:
    try:
        run(folder, program)
    except Exception as error:  # whatever the program ends with
        return find_example(error.__traceback__, time.monotonic() + 30)
    raise AssertionError("The program should have failed.")


def test_the_element_with_its_number_and_what_it_is_made_from(tmp_path: Path) -> None:
    (row,) = example(tmp_path, f"{ROWS}Rows(['a', 'a', 'b.json'])[2]\n")
    assert (row["what"], row["name"], row["index"], row["length"]) == ("example", "Rows.__getitem__", 2, 3)
    assert (row["from"]["name"], row["from"]["text"]) == ("self.paths[2]", "'b.json'")


@pytest.mark.parametrize("index", ["'b'", "slice(1)", "-1"])
def test_a_key_that_is_no_number_of_an_element_is_left_out(tmp_path: Path, index: str) -> None:
    assert example(tmp_path, f"{ROWS}Rows({{'b': 'c', -1: 'c'}})[{index}]\n") == []


@pytest.mark.parametrize(
    ("returned", "names"),
    [
        ("row['image'], row['kind']", ["kind"]),
        ("row['image'], int(self.rows[i]['kind'])", ["kind"]),
        ("row['image'], self.order[row['kind']]", []),  # they are mapped
        ("row['image'], kind", []),
    ],
)
def test_the_numbers_that_all_elements_hold_under_the_key_of_a_part(tmp_path: Path, returned: str, names: list[str]) -> None:
    program = (
        "class Rows:\n"
        "    def __init__(self):\n"
        "        self.rows = [{'image': 'a', 'kind': number} for number in (44, 1, 8, 1)]\n"
        "        self.order = {44: 2, 1: 0, 8: 1}\n"
        "    def __getitem__(self, i):\n"
        "        row = self.rows[i]\n"
        "        kind = 3\n"
        f"        return {returned}\n"
        "rows = Rows()\n"
    )
    space = run(tmp_path, program)
    found = list_numbers(space["rows"], space["Rows"].__getitem__, 2)
    assert [row["key"] for row in found] == names
    assert all((row["part"], row["name"], row["distinct"], row["length"]) == (1, "self.rows", [1, 8, 44], 4) for row in found)


def test_numbers_that_some_elements_do_not_have_are_left_out(tmp_path: Path) -> None:
    program = (
        "class Rows:\n"
        "    rows = None\n"
        "    def __getitem__(self, i):\n"
        "        return self.rows[i]['kind']\n"
        "rows = Rows()\n"
        "rows.rows = [{'kind': 1}, {}]\n"
    )
    space = run(tmp_path, program)
    assert list_numbers(space["rows"], space["Rows"].__getitem__, 1) == []
