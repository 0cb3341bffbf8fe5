"""main_unguarded: by how the process was started, how it ended, and where the statement stands."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.causes.test_process_died import processes
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import main_unguarded
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

PLACE = f"{FOLDER}/train.py:8"
GONE = "DataLoader worker (pid(s) 7) exited unexpectedly"


def examine(*codes: int, method: str = "spawn", place: str | None = PLACE, message: str = GONE) -> Verdict:
    maker = processes(*codes, method=method, unguarded=place)
    return main_unguarded.examine(failed("RuntimeError", message, line(8, "for x, y in loader:"), makers=[maker]))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_found(method: str) -> None:
    verdict = examine(1, method=method)
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:8"
    assert method in verdict.summary
    assert isinstance(examine(method=method), Found)  # a pool that has forgotten its processes


def test_clear_where_the_process_cannot_have_run_it_again() -> None:
    assert isinstance(examine(1, method="fork"), Clear)
    assert isinstance(examine(1, place=None), Clear)


def test_clear_of_a_crash() -> None:
    assert isinstance(examine(-11), Clear)
    assert isinstance(examine(message="DataLoader worker (pid 7) is killed by signal: Killed. "), Clear)


def test_clear_where_no_process_is_gone() -> None:
    assert isinstance(main_unguarded.examine(failed("ValueError", "x", line(8, "check(x)"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(main_unguarded.examine(unseen()), Unknown)
