"""`unstall board`, read aloud: find a port, say where it is, answer until somebody ends it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from typing import Any

from unstall.base.errors import AccessDeniedError, InvalidInputError, UnstallError
from unstall.base.files import FileLock
from unstall.board.access import AccessControl, choose_token
from unstall.board.server import BoardState, Server
from unstall.journal import run_folder
from unstall.journal.run_folder import RunFolder
from unstall.storage.download import LOOK_EVERY_S, Mirror

HOST = "127.0.0.1"
PORT = 8750
PORTS_TRIED = 20
LOOKS_EVERY_S = 1.0


@dataclass(frozen=True)
class BoardOptions:
    host: str = HOST
    port: int | None = None  # None: the usual one, or the next that is free
    token: str | None = None
    idle_hours: float | None = None

    @property
    def is_special(self) -> bool:
        return self.port is not None or self.token is not None or self.host != HOST


def serve(folder: Path, wanted: BoardOptions, on_ready: Callable[[Board, bool], None], mirror: Mirror | None = None) -> None:
    """Until it is ended. `on_ready(board, is_new)` is called once it is there; of one that is there already nothing else is done.
    `mirror`: of runs in a bucket, which it brings to the folder."""
    if not folder.is_dir():
        raise InvalidInputError(f"'{folder}' is no folder. Expected one that holds runs; without it, the runs of `unstall runs`.")
    with lock_board(folder) as is_alone:
        if not is_alone:
            return _use_running_board(folder, wanted, on_ready)
        access = AccessControl(choose_token(wanted.host, wanted.token))
        board_state = BoardState(folder.resolve(), access, secrets.token_hex(8))
        with _listening(wanted, board_state) as server:
            board_state.access = AccessControl(access.token, f"unstall-board-{server.server_port}")  # cookies know no ports
            board = Board(str(folder.resolve()), os.getpid(), wanted.host, server.server_port, board_state.identity, access.token)
            register(board)
            try:
                on_ready(board, True)
                _answer(server, wanted.idle_hours, mirror)
            finally:
                unregister(board)
    return None


def _use_running_board(folder: Path, wanted: BoardOptions, on_ready: Callable[[Board, bool], None]) -> None:
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while (board := find(folder)) is None and time.monotonic() < deadline:
        time.sleep(0.05)  # it has only begun
    if board is None:
        raise InvalidInputError(f"A board of '{folder}' is there already, and does not answer. End it: unstall board --stop")
    if wanted.is_special:
        raise InvalidInputError(
            f"A board of this folder is there already: {board.address()}. To have another, end it: unstall board --stop"
        )
    on_ready(board, False)


@contextmanager
def _listening(wanted: BoardOptions, board_state: BoardState) -> Iterator[Server]:
    server = _bound(wanted, board_state)
    try:
        yield server
    finally:
        server.server_close()


def _bound(wanted: BoardOptions, board_state: BoardState) -> Server:
    ports = range(PORT, PORT + PORTS_TRIED) if wanted.port is None else [wanted.port]
    for port in ports:
        try:
            return Server((wanted.host, port), board_state)
        except PermissionError:
            raise AccessDeniedError(f"Port {port} may not be taken by you. Another one: --port {PORT}") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InvalidInputError(f"Cannot listen at {wanted.host}, port {port}: {error.strerror}.") from None
    taken = (
        f"Port {wanted.port} is taken" if wanted.port is not None else f"The ports {PORT} to {PORT + PORTS_TRIED - 1} are taken"
    )
    raise InvalidInputError(f"{taken} by another program. Another one: --port NUMBER; --port 0 takes any that is free.")


def _answer(server: Server, idle_hours: float | None, mirror: Mirror | None) -> None:
    """In threads of its own; this one waits for a signal, for nobody to look any more, or for the folder to be removed."""
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    answering = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, name="unstall-board", daemon=True)
    answering.start()
    threading.Thread(
        target=server.board_state.catalogue.look, name="unstall-first-look", daemon=True
    ).start()  # while the browser opens
    if mirror is not None:
        fed = (mirror, lambda: server.board_state.asked_at, ended, _say)
        threading.Thread(target=serve_forever, args=fed, name="unstall-bucket", daemon=True).start()
    while not ended.wait(LOOKS_EVERY_S) and server.board_state.folder.is_dir():
        if idle_hours is not None and time.monotonic() - server.board_state.asked_at > idle_hours * 3600:
            break
    ended.set()
    server.shutdown()


def _say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"unstall: board: {line}\n")


def open_browser(address: str) -> None:
    """Where there is one, and somebody sits at a terminal. One that runs in the terminal itself would take it away."""
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if not has_screen or sys.stdout is None or not sys.stdout.isatty():
        return
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(browser, webbrowser.GenericBrowser) or os.environ.get("BROWSER"):
        browser.open(address)


# What a board of runs in a bucket shows: copies on the disk, brought again and again while somebody looks at it.


LOOKED_AT_S = 60.0  # after the last request nobody looks any more: a bucket counts what it is asked


def serve_forever(mirror: Mirror, asked_at: Callable[[], float], ended: threading.Event, say: Callable[[str], None]) -> None:
    """Until it has ended. `asked_at`: when a page was last asked for, by the monotonic clock. An outage is said, once."""
    is_away = False
    while not ended.is_set():
        if time.monotonic() - asked_at() < LOOKED_AT_S:
            try:
                mirror.look()
            except UnstallError as error:
                if not is_away:
                    say(f"{error} The board shows what was there before.")
                is_away = True
            else:
                is_away = False
        ended.wait(LOOK_EVERY_S)


# The board beside a run that begins: started or found, said, opened. Whatever goes wrong with it, the run goes on.


def show(run: RunFolder, is_quiet: bool = False) -> None:
    """Only on standard error: standard output is the program's. To be called before the program is started."""
    try:
        address = find_or_start(run.path.parent).address(run.name)
    except (UnstallError, OSError) as error:
        _announce(f"unstall: no board: {error}")
        return
    if not is_quiet:
        _announce(f"unstall: board: {address}")
    open_browser(address)


def _announce(line: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:
        return  # it is gone: nobody reads


# The board of a folder as a process: there is one at most, it can be found, started beside a run, and ended.
#
# Where it listens stands in a file beside the runs, which only the user may read: it holds the token. The file may be old, so a
# board is believed to be there when it answers with the name that the file gives it.


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
