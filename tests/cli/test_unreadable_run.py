"""A run folder that may not be read is said to be one, by name and permission; all others are told as ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.run_folders import finished
from tests.programs import UNSTALL, as_anybody

CLOSED, OPEN = "2026-01-01-closed", "2026-01-02-open"


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = as_anybody(*UNSTALL, *arguments)
    env = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=env, input="")
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def home(own_home: Path) -> Iterator[Path]:
    finished(own_home, CLOSED)
    finished(own_home, OPEN)
    (own_home / CLOSED).chmod(0)
    yield own_home
    (own_home / CLOSED).chmod(0o700)


@pytest.fixture
def closed_home(own_home: Path) -> Iterator[Path]:
    finished(own_home, OPEN)
    own_home.chmod(0)
    yield own_home
    own_home.chmod(0o700)


def test_the_list_has_all_others_and_says_why_one_cannot_be_read(home: Path) -> None:
    done = call("runs")
    assert done.returncode == 0
    assert f"{CLOSED}: it cannot be read: Permission denied: it needs r and x for you, and is d---------" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(OPEN)]
    assert "done" in row
    text = json.loads(call("runs", "--json", "-").stdout)["runs"]
    assert [each["state"] for each in text] == ["unknown", "done"]


@pytest.mark.parametrize("command", [["report", "--out", "page.html"], ["diagnose"], ["compare"], ["compare", OPEN]])
@pytest.mark.parametrize("is_path", [False, True])
def test_what_is_asked_of_it_ends_with_2_and_names_folder_and_permission(command: list[str], is_path: bool, home: Path) -> None:
    done = call(*command, str(home / CLOSED) if is_path else CLOSED)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"The run folder '{home / CLOSED}' cannot be read: Permission denied: it needs r and x" in done.stderr


def test_others_are_compared_and_told_together_beside_it(home: Path) -> None:
    together = call("diagnose", str(home))
    assert together.returncode == 0 and f"'{home / CLOSED}' is left out, as it cannot be read" in together.stderr
    assert call("runs", "--last-good", "train.py").stdout.strip() == OPEN
    assert "There is no good run before" in call("compare", OPEN).stderr
    assert "2026" not in call("runs", "--prune", "--state", "unknown", "--dry-run").stdout


def test_a_path_behind_a_closed_folder_names_that(home: Path) -> None:
    done = call("report", str(home / CLOSED / "inner"))
    assert done.returncode == 2 and f"'{home / CLOSED}', or a folder above it, does not let you in" in done.stderr


@pytest.mark.parametrize("command", [["runs"], ["report"], ["diagnose"], ["compare", OPEN], ["board", "--no-browser"]])
def test_runs_in_a_closed_folder_are_not_said_to_be_none(command: list[str], closed_home: Path) -> None:
    done = call(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"The folder of the runs '{closed_home}' cannot be read: Permission denied" in done.stderr


BOARD = """
import sys
from pathlib import Path
from unstall.board.access import AccessControl
from unstall.board.server import BoardState
board_state = BoardState(Path(sys.argv[1]), AccessControl(None), "me")
shown = board_state.body("/", {}).contents.decode()
page = board_state.body("/run/" + sys.argv[2], {}).contents.decode()
print(shown.count("it cannot be read: Permission denied"), sys.argv[3] in shown, "it cannot be read" in page)
(Path(sys.argv[1]) / sys.argv[2]).chmod(0o700)
print([row["state"] for row in board_state.catalogue.look(is_urgent=True)])
"""


def test_the_board_goes_on_and_shows_it_as_such_until_it_may_be_read(home: Path) -> None:
    command = as_anybody(sys.executable, "-c", BOARD, str(home), CLOSED, OPEN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout == "1 True True\n['done', 'done']\n", done.stderr
