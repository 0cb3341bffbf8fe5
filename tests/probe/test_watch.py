"""One's own loop under `unstall.watch()`, left by an interrupt: the process lives on, and its journal says so."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.programs import run_bare, write
from unstall.journal.events import ErrorRaised
from unstall.journal.reader import read_folder

LOOP = """
import sys, traceback
import unstall
try:
    with unstall.watch(quiet=True) as run:
        for number in run.steps(range(10)):
            if number == int(sys.argv[1]):
                raise KeyboardInterrupt
except KeyboardInterrupt as error:
    print("".join(traceback.format_exception(error)))
print("goes on")
"""


def test_an_interrupt_is_told_once_and_passes_on(tmp_path: Path, own_home: Path) -> None:
    seen = run_bare(write(tmp_path, LOOP), "4")
    assert (seen.code, seen.err) == (0, b"")
    assert seen.out.endswith(b"goes on\n")
    assert sys.version_info < (3, 11) or b"unstall/" not in seen.out
    (left,) = read_folder(next(own_home.iterdir())).of(ErrorRaised)
    assert (left.kind, left.fatal, left.thread) == ("KeyboardInterrupt", False, "MainThread")


def test_a_loop_that_ends_in_order_was_left_by_nobody(tmp_path: Path, own_home: Path) -> None:
    assert run_bare(write(tmp_path, LOOP), "-1").out == b"goes on\n"
    assert not read_folder(next(own_home.iterdir())).of(ErrorRaised)
