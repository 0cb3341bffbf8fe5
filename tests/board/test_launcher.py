"""`unstall board` as a process: one for each folder, found again and ended; and beside a run, which it does not harm."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.board.run_folders import finished
from tests.programs import UNSTALL, write
from tests.supervisor.train.test_training_run import SUPERVISE, a_run
from unstall.base.errors import InvalidInputError
from unstall.board import launcher
from unstall.board.launcher import BoardOptions, serve
from unstall.journal import run_folder


def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*UNSTALL, *arguments], capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **env}, input=""
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@contextmanager
def a_board(*arguments: str) -> Iterator[dict[str, Any]]:
    """Where it is, as it says itself as JSON."""
    command = [*UNSTALL, "board", *arguments, "--no-browser", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            said = ""
            while not said.endswith("}\n"):
                line = started.stdout.readline() if started.stdout else ""
                assert line, started.stderr.read() if started.stderr else ""
                said += line
            yield {**json.loads(said), "popen": started}
        finally:
            started.terminate()


def get(address: str, path: str) -> tuple[int, str]:
    host = address.removeprefix("http://").partition("/")[0]
    connection = HTTPConnection(host, timeout=120)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def folder(own_home: Path) -> Path:
    finished(own_home, "done")
    return own_home


@pytest.fixture
def no_board_left(own_home: Path) -> Iterator[None]:
    yield
    if launcher.find(own_home) is not None:
        launcher.stop(own_home)


def test_a_folder_has_one_board_which_is_found_again_and_ended(folder: Path) -> None:
    with a_board("--port", "0") as first:
        assert first["is_new"] and first["folder"] == str(folder)
        assert get(first["address"], "/runs.json")[0] == 200
        again = call("board", "--no-browser", "--json", "-")
        assert json.loads(again.stdout) == {**{key: first[key] for key in ("address", "folder", "process")}, "is_new": False}
        other = call("board", "--host", "0.0.0.0")
        assert other.returncode == 2 and "is there already" in other.stderr and "unstall board --stop" in other.stderr
        ended = call("board", "--stop")
        assert ended.returncode == 0 and str(first["process"]) in ended.stdout
        assert first["popen"].wait(240) == 0
    assert launcher.find(folder) is None
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".json") == []
    none = call("board", "--stop")
    assert none.returncode == 2 and "There is no board of" in none.stderr


def test_where_it_is_stands_in_a_file_for_the_user_alone_which_may_be_old(folder: Path) -> None:
    with a_board("--port", "0", "--token", "a-token-of-enough-letters") as board:
        (path,) = folder.glob(".board-*.json")
        assert path.stat().st_mode & 0o077 == 0
        assert board["address"].endswith("/?token=a-token-of-enough-letters")
        assert get(board["address"], "/")[0] == 401
        os.kill(board["process"], signal.SIGKILL)
        board["popen"].wait(240)
        assert path.exists() and launcher.find(folder) is None


def test_a_port_that_is_taken_is_an_error_and_of_the_usual_ones_the_next_is_taken(folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = call("board", "--port", str(port))
        assert done.returncode == 2 and f"Port {port} is taken by another program" in done.stderr
    other = tmp_path / "other"
    other.mkdir()
    with a_board() as first, a_board(str(other)) as second:
        assert first["address"] != second["address"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (BoardOptions(token="short"), "--token: expected 16 to 200 letters"),
        (BoardOptions(host="no.such.host.invalid"), "--host: 'no.such.host.invalid' is no address of this machine"),
        (BoardOptions(host="192.0.2.7"), "Cannot listen at 192.0.2.7"),
    ],
)
def test_what_cannot_be_is_named(wanted: BoardOptions, words: str, folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=words):
        serve(folder, wanted, lambda board, is_new: pytest.fail("it serves"))


def test_a_folder_that_is_not_there_is_an_error_of_one_line(own_home: Path) -> None:
    done = call("board", "/no/such/folder")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and "'/no/such/folder' is no folder" in done.stderr


def test_away_from_loopback_it_asks_for_the_token_that_it_prints(folder: Path) -> None:
    with a_board("--host", "0.0.0.0", "--port", "0") as board:
        port = int(board["address"].rpartition("/")[0].rpartition(":")[2])
        token = board["address"].partition("?token=")[2]
        assert len(token) >= 32
        assert get(f"http://127.0.0.1:{port}", "/runs.json")[0] == 401
        assert get(f"http://127.0.0.1:{port}", f"/?token={token}")[0] == 303


def test_when_nobody_looks_or_the_folder_is_removed_it_ends(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with a_board("--port", "0", "--idle-hours", "0") as idle, a_board(str(tmp_path / "other"), "--port", "0") as other:
        (tmp_path / "other").rmdir()
        assert idle["popen"].wait(240) == 0 and other["popen"].wait(240) == 0


# --- beside a run ---


@pytest.mark.usefixtures("no_board_left")
def test_a_run_starts_its_board_which_outlives_it_and_a_training_finds_it_again(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "print('hello')\nraise SystemExit(3)\n", "train.py")
    done = call("run", "--board", "--", sys.executable, str(program))
    assert (done.returncode, done.stdout) == (3, "hello\n")
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("unstall: board: ")]
    (run,) = run_folder.list_runs()
    address, _, path = said.removeprefix("unstall: board: ").partition("/run/")
    assert path == run.name
    status, page = get(address, f"/run/{path}")
    assert status == 200 and "exit code 3" in page
    trained = a_run({"at": 12, "exit": 77})
    worker = SUPERVISE.replace("RunOptions()", "RunOptions(board=True)")
    again = subprocess.run(
        [sys.executable, "-c", worker, str(trained.path)], capture_output=True, text=True, check=True, timeout=240
    )
    assert f"unstall: board: {address}/run/{trained.name}" in again.stderr
    rows = {row["run"]: row for row in json.loads(get(address, "/runs.json")[1])["runs"]}
    assert (rows[run.name]["state"], rows[trained.name]["state"], rows[trained.name]["repairs"]) == ("failed", "done", 1)


def test_a_board_that_cannot_be_had_is_said_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interpreter that should run it cannot."""
    monkeypatch.setattr(launcher, "STARTS_WITHIN_S", 0.2)
    for broken in ("/bin/false", "/no/such/python"):
        monkeypatch.setattr(sys, "executable", broken)
        launcher.show(run_folder.create("train"))
        assert capsys.readouterr().err.startswith("unstall: no board: ")
