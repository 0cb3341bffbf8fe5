"""The board of a folder as a process: there is one at most, it can be found, started beside a run, and ended.

Where it listens stands in a file beside the runs, which only the user may read: it holds the token. The file may be old, so a
board is believed to be there when it answers with the name that the file gives it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError, UnstallError
from unstall.base.files import FileLock
from unstall.journal import run_folder

ANSWERS_WITHIN_S = 2.0
STARTS_WITHIN_S = 15.0
ENDS_WITHIN_S = 5.0
IDLE_HOURS = 24.0  # a board that a run has started ends when nobody has looked for so long
# Starts a process in a session of its own and ends: nobody needs to wait for it, and no terminal ends it.
DETACH = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True, stderr=subprocess.DEVNULL)"
EVERYWHERE = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True)
class Board:
    folder: str
    pid: int
    host: str  # as it was asked for
    port: int
    identity: str  # what it answers when it is asked who it is
    token: str | None = None

    def address(self, run: str | None = None) -> str:
        """To be opened in a browser."""
        from unstall.board.pages import build_address

        name = os.uname().nodename if self.host in EVERYWHERE else self.host
        name = f"[{name}]" if ":" in name else name
        token = f"?token={self.token}" if self.token else ""
        return f"http://{name}:{self.port}/{build_address(run) if run else ''}{token}"


def as_plain(board: Board, is_new: bool) -> dict[str, Any]:
    return {"address": board.address(), "folder": board.folder, "process": board.pid, "is_new": is_new}


# --- the file ---


def _file(folder: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    return run_folder.get_home() / f".board-{digest}.json"


def register(board: Board) -> None:
    """Where it cannot be written, the board is there all the same; only nobody finds it."""
    path = _file(Path(board.folder))
    aside = path.with_suffix(f".{os.getpid()}.new")
    try:
        run_folder.make_home()
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(board), file)
        aside.replace(path)
    except OSError:
        return


def unregister(board: Board) -> None:
    path = _file(Path(board.folder))
    if (known := _read(path)) is not None and known.identity == board.identity:
        path.unlink(missing_ok=True)


def _read(path: Path) -> Board | None:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        return Board(**summary)
    except (OSError, ValueError, TypeError):
        return None


def find(folder: Path) -> Board | None:
    """The board of this folder, if one is there and answers."""
    board = _read(_file(folder))
    return board if board is not None and _answers(board) else None


def _answers(board: Board) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(board.host, board.host)
    connection = HTTPConnection(host, board.port, timeout=ANSWERS_WITHIN_S)
    try:
        connection.request("GET", "/alive", headers={"Authorization": f"Bearer {board.token}"} if board.token else {})
        summary = json.loads(connection.getresponse().read(4096))
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(summary, dict) and summary.get("board") == board.identity


@contextlib.contextmanager
def lock_board(folder: Path) -> Iterator[bool]:
    """Whether this process is the only board of the folder; True also where that cannot be known."""
    path = _file(folder).with_suffix(".lock")
    try:
        run_folder.make_home()
        lock = FileLock(path, create=True)
    except OSError:
        yield True
        return
    with lock:
        try:
            is_acquired = lock.acquire()
        except OSError:
            is_acquired = False
        yield is_acquired


# --- beside a run ---


def find_or_start(folder: Path) -> Board:
    """The board of this folder: the one that is there, or a new one in a process of its own, which outlives this one."""
    board = find(folder)
    if board is not None:
        return board
    command = [sys.executable, "-m", "unstall", "board", str(folder), "--no-browser", "--idle-hours", str(IDLE_HOURS)]
    start = [sys.executable, "-c", DETACH, *command]
    subprocess.run(start, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        board = find(folder)
        if board is not None:
            return board
        time.sleep(0.05)
    raise UnstallError(f"The board did not start within {STARTS_WITHIN_S:.0f} s. Try: unstall board {folder}")


def stop(folder: Path) -> Board:
    board = find(folder)
    if board is None:
        raise InvalidInputError(f"There is no board of '{folder}' to be ended. Start one: unstall board {folder}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(board.pid, signal.SIGTERM)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline:
        if not _answers(board):
            return board
        time.sleep(0.05)
    raise UnstallError(f"The board (process {board.pid}) does not end. End it: kill -9 {board.pid}")
