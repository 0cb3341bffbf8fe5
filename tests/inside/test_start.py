"""Where the probe cannot begin, the program runs as it would alone, and the journal has why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.programs import run_bare, run_watched, write
from unstall.journal.events import ErrorRaised, ProbeFailed
from unstall.journal.reader import read_folder

START = Path(__file__).parents[2] / "src" / "unstall" / "inside" / "start"


def failures(folder: Path) -> list[tuple[str, str, bool]]:
    return [(event.probe, event.error, event.disabled) for event in read_folder(folder).of(ProbeFailed)]


def test_a_file_of_the_programs_that_hides_a_module_of_pythons(tmp_path: Path, own_home: Path) -> None:
    """A common mistake, which is the program's to make: only the probe needs the module."""
    write(tmp_path, "", "dataclasses.py")
    program = write(tmp_path, "import os\nos.kill(os.getpid(), 0)\nprint('done')\n")
    assert run_watched(program) == run_bare(program)
    (run,) = own_home.iterdir()
    ((probe, error, disabled),) = failures(run)
    assert (probe, disabled) == ("start", True)
    assert error.startswith("ImportError: cannot import name 'dataclass'")


def test_an_error_before_anything_is_in_place(tmp_path: Path) -> None:
    write(tmp_path, "raise RuntimeError('no signals here')", "signal.py")
    env = {**os.environ, "PYTHONPATH": f"{START}{os.pathsep}{tmp_path}", "UNSTALL_RUN": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", "print('runs')"], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    assert (said.stdout, said.stderr) == ("runs\n", "")
    assert failures(tmp_path) == [("start", "RuntimeError: no signals here", True)]


def test_without_a_folder_to_write_to_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path, "raise RuntimeError('no signals here')", "signal.py")
    env = {**os.environ, "PYTHONPATH": f"{START}{os.pathsep}{tmp_path}", "UNSTALL_RUN": str(tmp_path / "not there")}
    said = subprocess.run(
        [sys.executable, "-c", "print('runs')"], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    assert (said.stdout, said.stderr) == ("runs\n", "")


def test_the_error_that_ends_a_program_is_seen_without_the_probe_and_the_failure_is_told(tmp_path: Path, own_home: Path) -> None:
    write(tmp_path, "", "dataclasses.py")
    program = write(tmp_path, "def load():\n    raise ValueError('no image')\nload()\n")
    watched = run_watched(program, options=())
    assert watched.err.startswith(run_bare(program).err) and watched.code == 1
    (run,) = own_home.iterdir()
    ((_, error, _),) = failures(run)
    (raised,) = read_folder(run).of(ErrorRaised)
    assert (raised.kind, raised.message, raised.fatal) == ("ValueError", "no image", True)
    words = " ".join(watched.err.decode().split())
    assert f"ValueError: no image, at {program}:2" in words
    assert f"the probe failed to start: {error[:40]}" in words


def test_a_forked_child_writes_down_no_error_of_its_own(tmp_path: Path, own_home: Path) -> None:
    write(tmp_path, "", "dataclasses.py")
    program = write(
        tmp_path, "import os\nos.kill(os.getpid(), 0)\nif os.fork() == 0:\n    raise ValueError('a child')\nos.wait()\n"
    )
    assert run_watched(program).code == run_bare(program).code == 0
    (run,) = own_home.iterdir()
    assert failures(run) and not read_folder(run).of(ErrorRaised)
