"""`unstall attach` on programs of every Python: the same thread has the same number in each sample, and so the same verdict."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interpreters import FOUND
from unstall.journal.events import StackSampled
from unstall.sensors import stacks, threads
from unstall.supervisor.attach.snapshot import attach

LOADER = """
import threading, queue

def fetch(batches, into):
    for batch in batches:
        into.put(batch)
"""
PROGRAM = """
import os, queue, sys, threading
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torch.utils.data.loader import fetch

reader, writer = os.pipe()

def images():
    print("ready", flush=True)
    yield os.read(reader, 1)

ahead = queue.Queue()
threading.Thread(target=fetch, args=(images(), ahead), name="input", daemon=True).start()
threading.Thread(target=threading.Event().wait, daemon=True).start()
ahead.get()
"""
BLOCKED_LINE = "program.py:10"
STOOD_S = 6.0  # longer than what is taken for a stall: the same for each program, however busy the machine is


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """A program of each version whose input thread waits for a pipe, all started at once: their process numbers."""
    folder = tmp_path_factory.mktemp("blocked")
    package = folder / "torch" / "utils" / "data"
    package.mkdir(parents=True)
    for each in (package.parents[1], package.parents[0], package):
        (each / "__init__.py").write_text("")
    (package / "loader.py").write_text(LOADER)
    (folder / "program.py").write_text(PROGRAM)
    programs = {
        version: subprocess.Popen([python, str(folder / "program.py")], stdout=subprocess.PIPE)
        for version, python in FOUND.items()
    }
    try:
        for program in programs.values():
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
        time.sleep(STOOD_S)
        yield {version: program.pid for version, program in programs.items()}
    finally:
        for program in programs.values():
            program.kill()
            program.wait()


@pytest.fixture(autouse=True)
def one_home(
    blocked: dict[str, int], own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The second attach to a program knows of the first, whose native stacks have set the kernel's clock back."""
    home = tmp_path_factory.getbasetemp() / "one_home"
    monkeypatch.setenv("UNSTALL_HOME", str(home))


@pytest.mark.parametrize("native_within_s", [0.0, 60.0], ids=["without_native_stacks", "with_native_stacks"])
@pytest.mark.parametrize("version", FOUND)
def test_the_verdict_is_the_same_with_and_without_native_stacks(
    blocked: dict[str, int], version: str, native_within_s: float
) -> None:
    story = attach(blocked[version], native_within_s)
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["generator_blocked"]
    verdict = story["verdicts"][0]
    assert Path(verdict["where"]).name == BLOCKED_LINE
    assert verdict["certainty"] == "certain"
    assert "a file or pipe (a pipe)" in verdict["summary"], "what the kernel says of the thread"


@pytest.mark.parametrize("version", FOUND)
def test_a_thread_has_the_kernels_number_in_quick_and_in_native_samples(blocked: dict[str, int], version: str) -> None:
    pid = blocked[version]
    quick, native, seen = stacks.sample(pid), stacks.sample(pid, native=True), threads.sample(pid)
    assert isinstance(quick, StackSampled)
    assert isinstance(native, StackSampled)
    assert seen is not None
    numbers = [{thread["name"]: thread["id"] for thread in sample.threads} for sample in (quick, native)]
    assert numbers[0] == numbers[1]
    assert numbers[0]["MainThread"] == pid
    assert set(numbers[0].values()) == {thread["id"] for thread in seen.threads}
    assert not any(thread["active"] for thread in quick.threads), "all of them sleep"
