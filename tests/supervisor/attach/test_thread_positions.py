"""What is said of a program that no cause explains: where its threads are, for how long, and that it is stuck or idle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from unstall.diagnosis import stalls
from unstall.report.story.threads import format_lines
from unstall.supervisor.attach.snapshot import attach

READER = """
import os, threading

def load():
    open("image.fifo").read()

os.chdir(os.path.dirname(os.path.abspath(__file__)))
if not os.path.exists("image.fifo"):
    os.mkfifo("image.fifo")
threading.Thread(target=load, name="loader", daemon=True).start()
"""
STUCK = (
    READER
    + """
import sys
sys.path.insert(0, os.getcwd())
from torch.utils.waiting import wait
print("ready", flush=True)
wait()
"""
)
SERVER = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
server.accept()
"""
WORKER = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.2)
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
"""
SPINNER = (
    READER
    + """
print("ready", flush=True)
while True:
    os.getpid()
"""
)
WITHOUT_PYTHON = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
reader, writer = os.pipe()
stream = ctypes.c_void_p(libc.fdopen(reader, b"r"))
thread = ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.getc, ctypes.c_void_p), stream)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""
STOOD_S = 7.0  # as long as a program must have done nothing in these tests


@contextmanager
def running(*command: str) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    folder = tmp_path_factory.mktemp("standing")
    (folder / "torch" / "utils").mkdir(parents=True)
    for package in (folder / "torch", folder / "torch" / "utils"):
        (package / "__init__.py").write_text("")
    (folder / "torch" / "utils" / "waiting.py").write_text("import threading\n\ndef wait():\n    threading.Event().wait()\n")
    prompt = "print('ready', flush=True); input()"
    with ExitStack() as programs:
        pids = {
            "stuck": programs.enter_context(running(sys.executable, str(write(folder, STUCK, "train.py")))),
            "server": programs.enter_context(running(sys.executable, str(write(folder, SERVER, "server.py")))),
            "prompt": programs.enter_context(running(sys.executable, "-c", prompt)),
            "worker": programs.enter_context(running(sys.executable, str(write(folder, WORKER, "worker.py")))),
        }
        time.sleep(STOOD_S)
        yield pids


@pytest.fixture
def quick_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is long for a test; nothing else is changed."""
    monkeypatch.setattr(stalls, "IDLE_S", STOOD_S)


def attach_until_idle(pid: int) -> dict[str, Any]:
    """A program that polls is known by its wakes while it is looked at. On a busy machine these may be too few: it is "running" then."""
    while (story := attach(pid))["state"] == "running":
        pass
    assert story["state"] == "idle"
    return story


def row_of(story: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in story["threads"] if row["name"] == name)


# --- stuck, idle, at work ---


@pytest.mark.usefixtures("quick_to_call")
def test_what_waits_in_a_framework_is_stuck_with_the_lines_and_the_file_and_goes_on_being_so(standing: dict[str, int]) -> None:
    first = attach(standing["stuck"])
    assert (first["state"], first["outcome"], first["verdicts"]) == ("stuck", "unknown", [])
    folder = Path(f"/proc/{standing['stuck']}/cwd").readlink()
    main, loader = row_of(first, "MainThread"), row_of(first, "loader")
    assert (main["state"], main["where"], main["call"]) == ("waits", "train.py:16", "futex")
    assert (loader["where"], loader["call"], loader["on"]) == ("train.py:5", "openat", str(folder / "image.fifo"))
    assert main["samples"] == main["total_samples"] >= 3
    second = attach(standing["stuck"])
    assert second["state"] == "stuck"
    assert second["progress"]["stalled_s"] > first["progress"]["stalled_s"]
    assert row_of(second, "loader")["duration_s"] > loader["duration_s"]


@pytest.mark.usefixtures("quick_to_call")
@pytest.mark.parametrize("name", ["server", "prompt"])
def test_what_waits_for_somebody_is_idle_and_not_called_stuck(standing: dict[str, int], name: str) -> None:
    story = attach(standing[name])
    assert (story["state"], story["outcome"], story["verdicts"]) == ("idle", "unknown", [])
    assert story["reason"] == "nothing says whether the program waits on purpose"


@pytest.mark.usefixtures("quick_to_call")
def test_what_works_between_two_sleeps_is_neither(standing: dict[str, int]) -> None:
    for _ in range(2):
        story = attach(standing["worker"])
        assert (story["state"], story["outcome"]) == ("running", "clear")


def test_less_than_a_minute_is_not_said_to_be_long(standing: dict[str, int]) -> None:
    story = attach(standing["server"])
    assert (story["state"], story["outcome"]) == ("running", "clear")
    assert row_of(story, "MainThread")["where"].endswith("/server.py:5")


# --- where it is ---


def test_a_thread_without_python_is_told_with_the_call_that_it_sits_in(tmp_path: Path) -> None:
    with running(sys.executable, str(write(tmp_path, WITHOUT_PYTHON))) as pid:
        time.sleep(1.5)
        story = attach(pid)
    (row,) = [row for row in story["threads"] if row["where"] is None]
    assert (row["call"], row["on"]) == ("read", "a pipe")
    said = f"waits (thread {row['id']}, which runs no Python), in the system call read on a pipe, for "
    assert any(said in line for line in format_lines(story["threads"]))


def test_each_thread_is_told_with_its_line_and_share_and_dump_prints_all(tmp_path: Path) -> None:
    target = tmp_path / "story.json"
    with running(sys.executable, str(write(tmp_path, SPINNER))) as pid:
        command = [*UNSTALL, "attach", str(pid), "--dump", "--json", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "where     MainThread runs at program.py:14 in <module> (" in done.stdout
    waits = rf"loader waits at program.py:5 in load \((\d) of \1 samples\), in the system call openat on {tmp_path}/image.fifo"
    assert re.search(waits, done.stdout)
    dumped = done.stdout.partition("\nProcess ")[2]
    assert re.search(r"\n    load \(program.py:5\)\n    (Thread\.)?run \(/.*threading.py:\d+\)\n", dumped)
    story = json.loads(target.read_text())
    (stack,) = [stack for stack in story["stacks"] if stack["name"] == "loader"]
    assert [frame["function"].rpartition(".")[2] for frame in stack["frames"]] == [
        "load",
        "run",
        "_bootstrap_inner",
        "_bootstrap",
    ]


def test_a_run_that_stood_still_when_it_was_ended_is_told_where(tmp_path: Path) -> None:
    program = write(tmp_path, READER + "\nthreading.Event().wait()\n")
    target = tmp_path / "story.json"
    command = [*UNSTALL, "run", "--json", str(target), "--", sys.executable, str(program)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    home = Path(os.environ["UNSTALL_HOME"])
    until = time.monotonic() + 120
    while time.monotonic() < until and not any(path.read_text().count("StackSampled") >= 3 for path in home.glob("*/events-w*")):
        time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=240)
    assert f"loader waits at {program}:5 in load (" in said
    story = json.loads(target.read_text())
    assert (story["state"], story["outcome"]) == ("killed", "unknown")
    assert row_of(story, "MainThread")["where"].endswith("program.py:12")


def test_a_run_that_ended_well_has_no_list_of_threads(tmp_path: Path) -> None:
    target = tmp_path / "story.json"
    command = [*UNSTALL, "run", "--json", str(target), "--", sys.executable, str(write(tmp_path, "print('done')\n"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(target.read_text())["threads"] == []
    assert "where" not in done.stderr


LOOP = """
import itertools, os, sys, time, unstall

def work():
    time.sleep(0.05)

with unstall.watch() as run:
    for step in run.steps(itertools.count()):
        work()
        if os.path.exists("stop"):
            os._exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [3, 0])
def test_a_run_that_failed_while_it_moved_is_told_where_it_was_seen_last(tmp_path: Path, code: int) -> None:
    write(tmp_path, LOOP)
    command = [*UNSTALL, "run", "--json", "story.json", "--", sys.executable, "program.py", str(code)]
    environment = {**os.environ, "COLUMNS": "200", "UNSTALL_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    until = time.monotonic() + 120
    while time.monotonic() < until and not any(
        "StackSampled" in path.read_text() for path in (tmp_path / "home").glob("*/events-watcher*")
    ):
        time.sleep(0.2)
    (tmp_path / "stop").touch()
    _, said = process.communicate(timeout=240)
    assert process.returncode == code
    story = json.loads((tmp_path / "story.json").read_text())
    assert story["verdicts"] == []
    if code == 0:  # all went well: nobody asks where it was
        assert story["threads"] == [] and "before the end" not in said
        return
    main = row_of(story, "MainThread")
    assert re.fullmatch(r"program\.py:\d+", main["where"]) and main["is_user_code"] and main["before_end_s"] >= 0
    assert re.search(r"where +MainThread (ran|waited) at program\.py:\d+ in \S+.*, .* s before the end", said), said


def test_many_threads_are_counted_and_not_all_listed() -> None:
    row = {"name": "T", "state": "waits", "where": "a.py:1", "function": "f", "samples": 3, "call": None, "on": None}
    rows = [{**row, "main": index == 0, "is_user_code": True, "total_samples": 3, "duration_s": None} for index in range(20)]
    assert len(format_lines(rows)) == 7
    assert format_lines(rows)[-1] == "14 more threads: unstall attach --dump"
    assert format_lines(rows, is_over=True)[-1] == "14 more threads: story.json in the run folder"
    assert format_lines([]) == []


# --- what looks for something now and then ---

POLLING = """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torch.utils.polling import wait_for
print("ready", flush=True)
wait_for("checkpoint")
"""
POLLS = "import os, time\n\ndef wait_for(path):\n    while not os.path.exists(path):\n        time.sleep(0.5)\n"
WORKS_WHEN_ASKED = """
import signal, sys, time

def work(*_):
    until = time.thread_time() + 2
    while time.thread_time() < until:
        pass
    open(sys.argv[1], "w").close()

signal.signal(signal.SIGUSR1, work)
print("ready", flush=True)
while True:
    time.sleep(0.5)
"""
POLLING_SERVER = """
import socketserver
with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
    print("ready", flush=True)
    server.serve_forever()
"""


def write_polling(folder: Path) -> Path:
    (folder / "torch" / "utils").mkdir(parents=True)
    for package in (folder / "torch", folder / "torch" / "utils"):
        (package / "__init__.py").write_text("")
    (folder / "torch" / "utils" / "polling.py").write_text(POLLS)
    return write(folder, POLLING, "evaluate.py")


def test_what_polls_is_idle_at_first_and_stuck_once_it_is_known_to_have_done_so_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(sys.executable, str(write_polling(tmp_path))) as pid:
        first = attach_until_idle(pid)
        assert (first["state"], first["outcome"], first["verdicts"]) == ("idle", "unknown", [])
        assert row_of(first, "MainThread")["where"] == f"{tmp_path}/evaluate.py:6"
        monkeypatch.setattr(stalls, "IDLE_S", STOOD_S)
        time.sleep(STOOD_S)
        second = attach(pid)
        assert (second["state"], second["outcome"], second["verdicts"]) == ("stuck", "unknown", [])
        assert second["progress"]["idle_s"] > STOOD_S > first["progress"]["idle_s"]


def test_a_server_that_polls_is_idle_however_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "IDLE_S", 1.0)
    with running(sys.executable, str(write(tmp_path, POLLING_SERVER, "server.py"))) as pid:
        for _ in range(2):
            assert attach_until_idle(pid)["verdicts"] == []


@pytest.mark.usefixtures("quick_to_call")
def test_what_has_worked_between_two_attaches_begins_anew(tmp_path: Path) -> None:
    """It waits at the same line both times, but has used the CPU in between."""
    worked = tmp_path / "worked"
    with running(sys.executable, str(write(tmp_path, WORKS_WHEN_ASKED, "serve.py")), str(worked)) as pid:
        attach_until_idle(pid)
        os.kill(pid, signal.SIGUSR1)
        while not worked.exists():
            time.sleep(0.1)
        began = time.monotonic()
        story = attach_until_idle(pid)
        assert story["progress"]["idle_s"] <= time.monotonic() - began
