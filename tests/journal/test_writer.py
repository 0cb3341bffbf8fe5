"""The writer never raises, never holds up the caller, and loses nothing that the kernel was given."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from unstall.journal.events import EventsLost, StepsEnded, WarningShown
from unstall.journal.reader import Tail
from unstall.journal.writer import JournalWriter, encode, is_remote


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "events-a.jsonl")
    events = [StepsEnded(at=float(n), first=n, last=n, loss=0.5) for n in range(100)]
    for event in events:
        writer.write(event)
    assert Tail(writer.path).read() == events


def test_not_finite_numbers_become_null_and_the_line_stays_json() -> None:
    line = encode(StepsEnded(at=1.0, loss=math.nan, wait_s=math.inf))
    plain = json.loads(line)
    assert plain["loss"] is None
    assert plain["wait_s"] is None


def test_text_of_any_kind_is_one_line() -> None:
    line = encode(WarningShown(at=1.0, message="two\nlines \ud800 and a lone surrogate"))
    assert line.count(b"\n") == 1
    json.loads(line)


def test_a_sigkill_right_after_write_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events-a.jsonl"
    program = f"""
import os, signal, sys
from pathlib import Path
from unstall.journal.events import StepsEnded
from unstall.journal.writer import JournalWriter
writer = JournalWriter(Path({str(path)!r}))
for n in range(1000):
    writer.write(StepsEnded(at=float(n), first=n))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(Tail(path).read()) == 1000


def test_a_write_that_only_waited_for_a_core_is_not_taken_for_a_slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a SIGKILL on a crowded machine would lose what is queued."""
    monkeypatch.setattr("unstall.journal.writer.SLOW_WRITE_S", 0.0)  # so every write takes too long
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        writer = JournalWriter(Path(folder, "events-a.jsonl"))
        for number in range(100):
            writer.write(StepsEnded(at=float(number), first=number))
        assert writer._queue is None
        assert len(Tail(writer.path).read()) == 100


def test_a_full_disk_raises_nothing_and_the_loss_is_told_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(Path("/dev/full"))
    writer.write(StepsEnded(at=1.0))
    writer.write(StepsEnded(at=2.0))
    os.close(writer._file)
    writer.path = tmp_path / "room"  # a closed file is opened again by its path
    monkeypatch.setattr(writer, "_retry_at", 0.0)
    writer.write(StepsEnded(at=3.0))
    result, event = Tail(tmp_path / "room").read()
    assert isinstance(result, EventsLost)
    assert result.count == 2
    assert "No space left" in result.why
    assert event == StepsEnded(at=3.0)


def test_a_folder_that_is_not_there_raises_nothing(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "missing" / "events.jsonl").write(StepsEnded(at=1.0))


def test_a_journal_that_is_deleted_comes_back_whole_once_its_folder_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "run" / "events.jsonl"
    path.parent.mkdir()
    writer = JournalWriter(path)
    brought_back: list[bool] = []
    writer.on_brought_back = lambda: brought_back.append(True)
    for step in range(2):
        writer.write(StepsEnded(at=1.0, first=step))
    shutil.rmtree(path.parent)
    writer.write(StepsEnded(at=1.0, first=2))
    assert not path.parent.exists()  # the program may have deleted it on purpose, and make it anew
    path.parent.mkdir()
    writer.write(StepsEnded(at=1.0, first=3))
    assert Tail(path).read() == [StepsEnded(at=1.0, first=step) for step in range(4)] and brought_back == [True]


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "events-a.jsonl")

    def work(number: int) -> None:
        for n in range(300):
            writer.write(WarningShown(at=float(n), message="x" * 2000, source=str(number)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    tail = Tail(writer.path)
    assert len(tail.read()) == 1200
    assert tail.damaged_lines == 0


def test_a_forked_child_writes_nothing_into_its_parents_journal(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "events-a.jsonl")
    writer.write(StepsEnded(at=1.0))
    child = os.fork()
    if child == 0:
        writer.write(StepsEnded(at=2.0))
        os._exit(0)
    os.waitpid(child, 0)
    assert [event.at for event in Tail(writer.path).read()] == [1.0]


def test_a_disk_that_hangs_does_not_hang_the_caller(tmp_path: Path) -> None:
    """A FIFO that nobody reads blocks every write, as a dead network disk does."""
    fifo = tmp_path / "events-a.jsonl"
    os.mkfifo(fifo)
    writer = JournalWriter(fifo)
    writer._start_thread()
    began = time.monotonic()
    for n in range(5000):
        writer.write(StepsEnded(at=float(n)))
    writer.close(timeout_s=0.1)
    assert writer._lost >= 2000
    assert time.monotonic() - began < 120  # not a timing claim: it must not hang
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)  # lets the thread go
    os.close(reader)


def test_a_local_folder_is_not_remote(tmp_path: Path) -> None:
    assert is_remote(tmp_path) is False
