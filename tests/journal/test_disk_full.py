"""Without room for it on the disk there is no pulse and no journal: the program goes on as it would alone, and is judged from outside."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import UNSTALL, run_bare, run_watched, write
from unstall.journal.events import EventsLost, FitBegan, ProbeFailed, StepsEnded
from unstall.journal.pulse import read_pulse
from unstall.journal.reader import Tail, read_folder
from unstall.journal.writer import JournalWriter

LOOP = """
import sys, time
import unstall
{before}
with unstall.watch(quiet=True) as run:
    for batch in run.steps(range(5)):
        {step}
        time.sleep(0.02)
print("done")
sys.exit(3)
"""
FILL = """
def fill():
    try:
        with open("{disk}/fill", "ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError as error:
        print(error)
"""
LIMIT = """
import resource, signal
signal.signal(signal.SIGXFSZ, {handler})
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=65536", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"), (disk / "fill").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_full_disk_ends_no_training(small_disk: Path, tmp_path: Path) -> None:
    fill(small_disk)
    program = write(tmp_path, LOOP.format(before="", step=""))
    alone = run_bare(program, env={"UNSTALL_DISABLE": "1"})
    assert (alone.code, alone.out) == (3, b"done\n")
    home = {"UNSTALL_HOME": str(small_disk)}
    assert run_bare(program, env=home) == run_watched(program, env=home) == alone
    assert not list(small_disk.glob("*/pulse-*"))


def test_it_is_said_that_nothing_could_be_written_and_not_that_nothing_happened(small_disk: Path, tmp_path: Path) -> None:
    program = write(tmp_path, LOOP.format(before="", step=""))
    with_room = run_watched(program, env={"UNSTALL_HOME": str(tmp_path / "home"), "COLUMNS": "300"}, options=())
    fill(small_disk)
    without = run_watched(program, env={"UNSTALL_HOME": str(small_disk), "COLUMNS": "300"}, options=())
    assert b"could not be written" not in with_room.err
    assert b"could not be written to the run folder (No space left on device)" in without.err
    assert b"loaded no framework" not in without.err and b"no training was seen" not in without.err


def test_a_disk_that_fills_up_under_a_training_ends_none(small_disk: Path, tmp_path: Path) -> None:
    program = write(tmp_path, LOOP.format(before=FILL.format(disk=str(small_disk)), step="fill() if batch == 1 else None"))
    watched = run_watched(program, env={"UNSTALL_HOME": str(small_disk)})
    (small_disk / "fill").unlink()
    assert watched == run_bare(program, env={"UNSTALL_DISABLE": "1"}) and watched.code == 3
    (pulse,) = small_disk.glob("*/pulse-*")
    beat = read_pulse(pulse)
    assert beat is not None and beat.steps_done == 5  # its room was there before the disk was full


def test_why_there_is_no_pulse_is_journalled_where_there_is_room_for_that(tmp_path: Path, own_home: Path) -> None:
    """A limit on the size of files allows a journal, and no pulse."""
    program = write(tmp_path, LOOP.format(before=LIMIT.format(handler="signal.SIG_DFL", bytes=4000), step=""))
    assert run_watched(program).code == run_bare(program, env={"UNSTALL_DISABLE": "1"}).code == 3
    (run,) = own_home.iterdir()
    failed = [event for event in read_folder(run).of(ProbeFailed) if event.probe == "pulse"]
    assert failed and all(os.strerror(errno.EFBIG) in event.error for event in failed)
    assert not list(run.glob("pulse-*"))


@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "lambda *a: print('SIGXFSZ', flush=True)"])
@pytest.mark.parametrize("limit", [0, 700])
def test_no_file_of_ours_brings_a_program_the_signal_of_its_own_limit(handler: str, limit: int, tmp_path: Path) -> None:
    program = write(tmp_path, LOOP.format(before=LIMIT.format(handler=handler, bytes=limit), step=""))
    alone = run_bare(program, env={"UNSTALL_DISABLE": "1"})
    assert (alone.code, alone.out) == (3, b"done\n")
    assert run_bare(program) == run_watched(program) == alone


def test_a_training_of_which_only_the_beginning_could_be_written_is_not_called_healthy(tmp_path: Path, own_home: Path) -> None:
    limit = LIMIT.format(handler="signal.SIG_IGN", bytes=1000)
    program = write(tmp_path, LOOP.format(before=limit, step="").replace("sys.exit(3)", ""))
    watched = run_watched(program, env={"COLUMNS": "300"}, options=())
    (run,) = own_home.iterdir()
    journal = read_folder(run)
    assert journal.of(FitBegan) and not journal.of(StepsEnded)
    assert b"nothing wrong" not in watched.err
    assert b"cannot tell: " in watched.err


def test_a_pulse_that_cannot_be_brought_back_beats_on_unseen(small_disk: Path, tmp_path: Path) -> None:
    program = write(
        tmp_path,
        FILL.format(disk=str(small_disk))
        + f"""
import os
from pathlib import Path
from unstall.journal.pulse import Pulse, read_pulse
pulse = Pulse(Path("{small_disk}/pulse-1"))
pulse.path.unlink()
fill()
pulse.bring_back()
pulse.beat(12.0)
print(pulse.path.exists())
os.unlink("{small_disk}/fill")
pulse.bring_back()
print(read_pulse(pulse.path).beat)
""",
    )
    seen = run_bare(program)
    assert (seen.code, seen.out.split()[-2:], seen.err) == (0, [b"False", b"12.0"], b"")


def test_a_line_that_a_full_disk_took_half_of_spoils_no_other(small_disk: Path) -> None:
    writer = JournalWriter(small_disk / "events-a.jsonl", keeps_lost=True)
    written = []
    for number in range(1000):
        written.append(StepsEnded(at=float(number), first=number))
        writer.write(written[-1])
    lost = writer.take_lost()
    assert lost and not writer.take_lost()
    assert not writer.path.read_bytes().endswith(b"\n"), "the disk was to be full in the middle of a line"
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    writer._retry_at = 0.0  # it waits a moment before it tries again
    writer.write(StepsEnded(at=2000.0))
    tail = Tail(writer.path)
    *before, result, last = tail.read()
    assert before == written[: len(before)] and len(before) + len(lost) == 1000 and tail.damaged_lines == 1
    assert isinstance(result, EventsLost) and result.count == len(lost) and last == StepsEnded(at=2000.0)


def test_a_program_that_hangs_beside_a_full_disk_is_judged_from_outside(small_disk: Path, tmp_path: Path) -> None:
    fill(small_disk)
    program = write(tmp_path, "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n")
    command = [*UNSTALL, "run", "--quiet", "--on-stall", "stop", "--json", "-", "--", sys.executable, str(program)]
    env = {**os.environ, "UNSTALL_HOME": str(small_disk)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == -signal.SIGTERM, done.stderr
    story = json.loads(done.stdout)
    assert [verdict["cause"] for verdict in story["verdicts"]] == ["lock_deadlock"]
