"""Where the probe cannot begin, the program runs as it would alone, and the journal has why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.programs import run_bare, run_watched, write
from unstall.journal.events import ProbeFailed
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
