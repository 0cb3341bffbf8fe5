"""returned_parts: which lines of a function make what it returns, part by part."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from unstall.probe.errors.returned_parts import find_call_to, find_part_lines, list_parts


def windows(series: list[int], size: int) -> Any:
    inputs, answers = [], []
    for start in range(len(series) - size):
        inputs.append(series[start : start + size])
    for end in range(size, len(series)):
        answers.append(series[end])
    return list(inputs), answers


def one(path: str) -> Any:
    size = 4
    image = path * size
    print(size)
    return image


def each(rows: list[int]) -> Any:
    for row in rows:
        yield row, row + 1


def either(is_first: bool) -> Any:
    if is_first:
        return 1
    return 2


def sources(lines: list[dict[str, Any]]) -> list[str]:
    return [line["source"] for line in lines]


def test_a_part_that_grows_is_made_where_it_grows_and_in_the_loop_around_that() -> None:
    assert sources(find_part_lines(windows, 1)) == ["for end in range(size, len(series)):", "answers.append(series[end])"]


def test_a_part_that_is_computed_in_the_return_is_made_there_too() -> None:
    first = sources(find_part_lines(windows, 0))
    assert first[:2] == ["for start in range(len(series) - size):", "inputs.append(series[start : start + size])"]
    assert first[2] == "return list(inputs), answers"


def test_a_name_is_made_where_it_was_assigned() -> None:
    assert sources(find_part_lines(one, None)) == ["image = path * size"]


def test_each_part_of_what_a_generator_yields() -> None:
    assert [sources(part) for part in list_parts(each)] == [["for row in rows:"], ["yield row, row + 1"]]


@pytest.mark.parametrize("function", [either, len, lambda: 1, 3], ids=["two returns", "built in", "a lambda", "no function"])
def test_nothing_is_said_where_it_cannot_be_told(function: Callable[..., Any]) -> None:
    assert list_parts(function) == []
    assert find_part_lines(function, None) == []


@pytest.mark.parametrize(
    ("source", "name", "called", "part"),
    [
        ("x, y = load(a)", "y", "load", 1),
        ("x, y = load(a), read(b)", "y", "read", None),
        ("x = load(a)", "x", "load", None),
        ("x, *y = load(a)", "x", None, None),
        ("x = a", "x", None, None),
    ],
)
def test_the_call_that_gave_a_name_its_value(source: str, name: str, called: str | None, part: int | None) -> None:
    call, which = find_call_to(ast.parse(source).body[0], name)
    assert (call.func.id if call is not None else None, which) == (called, part)
