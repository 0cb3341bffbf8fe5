"""other_processes: the part that a pickler refuses is found in the object that it was given, with the line that put it there."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.probe.errors.test_unseen_lines import end
from unstall.probe.errors.other_processes import find_ended_processes

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


class BrokenProcessPool(Exception):
    """As the one of the standard library, of which only the name is looked at."""


def look() -> list[dict[str, Any]]:
    return find_ended_processes(BrokenProcessPool(), [])


def test_how_a_process_ended_is_read_and_left_for_the_program() -> None:
    process = multiprocessing.get_context("fork").Process(target=os._exit, args=(3,), name="decoder")
    process.start()
    limit = time.monotonic() + 240
    while not look()[0]["ended"] and time.monotonic() < limit:
        time.sleep(0.01)
    (row,) = look()
    assert row["ended"] == [{"name": "decoder", "exit_code": 3, "method": "fork"}]
    assert os.waitid(os.P_PID, process.pid or 0, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None  # still to be waited for
    process.join()
    assert process.exitcode == 3


def test_a_process_that_runs_or_has_ended_well_is_not_told() -> None:
    context = multiprocessing.get_context("fork")
    well, running = context.Process(target=os._exit, args=(0,)), context.Process(target=time.sleep, args=(240,))
    well.start()
    running.start()
    try:
        os.waitid(os.P_PID, well.pid or 0, os.WEXITED | os.WNOWAIT)
        assert look()[0]["ended"] == []
    finally:
        running.terminate()
        running.join()
        well.join()


def test_an_error_that_is_about_no_process_costs_nothing() -> None:
    assert find_ended_processes(ValueError("x"), []) == []
