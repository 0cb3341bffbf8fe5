"""The program's own code, read while the program goes on."""

from __future__ import annotations

import ast
import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from unstall.probe.core.user_code import parse_source

SOURCE = "\n".join(f"def f{number}(x):\n    return [x + {number}, (x, {{'a': x}})]" for number in range(60))
ROUNDS = 40


@pytest.fixture
def switching_threads() -> Iterator[None]:
    """Wherever objects are collected, another thread has its turn: also in the middle of the parser."""
    before = gc.get_threshold()

    def switch(phase: str, facts: dict[str, Any]) -> None:
        time.sleep(0.0001)

    gc.callbacks.append(switch)
    gc.set_threshold(50)
    yield
    gc.callbacks.remove(switch)
    gc.set_threshold(*before)


def deeper(depth: int, call: Callable[[], Any]) -> Any:
    return call() if depth == 0 else deeper(depth - 1, call)


def test_source_is_parsed_though_other_threads_parse_meanwhile(switching_threads: None) -> None:
    parsed: list[ast.Module | None] = []

    def parse(depth: int) -> None:
        for _ in range(ROUNDS):
            parsed.append(deeper(depth, lambda: parse_source(SOURCE)))

    threads = [threading.Thread(target=parse, args=[depth]) for depth in (1, 60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parsed) == len(threads) * ROUNDS
    assert all(tree is not None and len(tree.body) == 60 for tree in parsed)


@pytest.mark.parametrize("source", ["def f(:", "a\0b", "(" * 100_000])
def test_what_cannot_be_parsed_is_none(source: str) -> None:
    assert parse_source(source) is None
