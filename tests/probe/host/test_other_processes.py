"""other_processes: the part that a pickler refuses is found in the object that it was given, with the line that put it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.host.test_unseen_lines import end

LOCK = "import threading\nclass Log:\n    def __init__(self):\n        self.lock = threading.Lock()\n"
ROWS = "class Rows:\n    def __init__(self, parts):\n        self.parts = parts\n"


def test_an_attribute_is_found_with_the_line_that_sets_it(tmp_path: Path) -> None:
    (row,) = end(tmp_path, f"{LOCK}{ROWS}import copy\nkept = Rows([1, {{'log': Log()}}])\ncopy.deepcopy(kept)\n")
    assert (row["what"], row["name"], row["owner"], row["value"]) == ("unpicklable", "lock", "Log", "_thread.lock")
    assert row["where"] == f"{tmp_path / 'program.py'}:4"


@pytest.mark.parametrize("call", ["pickle.dumps(kept)", "pickle._Pickler(io.BytesIO()).dump(kept)"])
def test_a_lambda_in_a_list_is_found_where_it_is_written(tmp_path: Path, call: str) -> None:
    program = f"import io, pickle\ndef make():\n    return [len, lambda x: x]\ndef save(kept):\n    {call}\nsave(make())\n"
    (row,) = end(tmp_path, program)
    assert (row["value"], row["owner"], row["function"]) == ("make.<locals>.<lambda>", "", True)
    assert row["where"] == f"{tmp_path / 'program.py'}:3"


def test_an_object_that_says_itself_what_is_saved_is_not_looked_into(tmp_path: Path) -> None:
    own = f"{LOCK}    def __getstate__(self):\n        return {{}}\n"
    program = f"{own}import copy\nlog = Log()\ncopy.deepcopy((log, {{'later': threading.Lock()}}))\n"
    (row,) = end(tmp_path, program)
    assert (row["name"], row["owner"]) == ("later", "")


def test_nothing_of_the_programs_own_is_called(tmp_path: Path) -> None:
    own = "class Odd:\n    def __getattr__(self, name):\n        asked.append(name)\n        raise AttributeError(name)\n"
    program = f"{own}import pickle, threading\nodd, lock = Odd(), threading.Lock()\npickle.dumps([lock, 1])\n"
    asked: list[str] = []
    (row,) = end(tmp_path, program, asked=asked)
    assert (row["name"], asked) == ("lock", [])


def test_other_errors_are_left_alone(tmp_path: Path) -> None:
    assert end(tmp_path, f"{LOCK}kept = Log()\nint('x')\n") == []
