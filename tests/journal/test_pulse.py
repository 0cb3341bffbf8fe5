"""The pulse is set by the program and read by the watcher, also after the program is dead."""

import subprocess
import sys
import time
from pathlib import Path

from unstall.journal.pulse import Pulse, read_pulse


def test_the_watcher_reads_what_the_program_set(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path / "pulse-1")
    pulse.phase("train", 10.0)
    pulse.step(381, 2, 11.0)
    pulse.input_since(11.5)
    beat = read_pulse(tmp_path / "pulse-1")
    assert beat is not None
    assert (beat.phase, beat.step, beat.epoch, beat.beat, beat.input_since) == ("train", 381, 2, 11.0, 11.5)
    assert beat.silent_s(21.0) == 10.0


def test_it_is_still_there_after_a_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "pulse-1"
    program = f"""
import os, signal, time
from pathlib import Path
from unstall.journal.pulse import Pulse
pulse = Pulse(Path({str(path)!r}))
pulse.phase("train", time.monotonic())
pulse.step(7, 0, time.monotonic())
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    beat = read_pulse(path)
    assert beat is not None
    assert beat.step == 7
    assert beat.silent_s(time.monotonic()) < 60


def test_one_that_is_deleted_comes_back_as_it_stands_and_beats_on(tmp_path: Path) -> None:
    path = tmp_path / "pulse-1"
    pulse = Pulse(path)
    pulse.step(7, 1, 11.0)
    path.unlink()
    pulse.bring_back()
    pulse.beat(12.0)
    pulse.bring_back()  # where it is still there, nothing happens to it
    beat = read_pulse(path)
    assert beat is not None and (beat.step, beat.epoch, beat.beat) == (7, 1, 12.0)


def test_no_pulse_or_not_a_whole_one_is_none(tmp_path: Path) -> None:
    assert read_pulse(tmp_path / "none") is None
    (tmp_path / "half").write_bytes(b"UNSTALL1")
    assert read_pulse(tmp_path / "half") is None
    (tmp_path / "other").write_bytes(b"x" * 4096)
    assert read_pulse(tmp_path / "other") is None
