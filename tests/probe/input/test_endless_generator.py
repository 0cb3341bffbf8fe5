"""Which generators never end, as their source shows."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from unstall.probe.input.endless_generator import is_endless

ROWS = [1, 2, 3]


def for_ever() -> Iterator[int]:
    while True:
        for row in ROWS:
            if row == 2:
                continue
            yield row


def for_ever_after_opening() -> Iterator[int]:
    rows = list(ROWS)
    with Path("/dev/null").open() as file:
        while 1:
            for row in rows:
                if row > 5:
                    break  # leaves only the inner loop
                yield row
            file.read()


def cycles() -> Iterator[int]:
    for row in itertools.cycle(ROWS):
        yield row * 2


def once() -> Iterator[int]:
    for row in ROWS:
        yield row * 2


def breaks() -> Iterator[int]:
    while True:
        yield 1
        if len(ROWS) > 2:
            break


def returns() -> Iterator[int]:
    while True:
        for row in ROWS:
            if row > 2:
                return
            yield row


def ends_by_an_error_of_next() -> Iterator[int]:
    rows = iter(ROWS)
    while True:
        row = next(rows, None)
        if row is None:
            raise ValueError
        yield row


@pytest.mark.parametrize("generator", [for_ever, for_ever_after_opening, cycles])
def test_certain_that_it_never_ends(generator: object) -> None:
    assert is_endless(generator().gi_code)  # type: ignore[operator]


@pytest.mark.parametrize("generator", [once, breaks, returns, ends_by_an_error_of_next])
def test_not_said_of_one_that_may_end(generator: object) -> None:
    assert not is_endless(generator().gi_code)  # type: ignore[operator]


def test_not_said_where_the_source_is_not_at_hand() -> None:
    space: dict[str, object] = {}
    exec("def made():\n    while True:\n        yield 1\n", space)
    assert not is_endless(space["made"]().gi_code)  # type: ignore[operator]
