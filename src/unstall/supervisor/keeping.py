"""The process that keeps a run's copy in a bucket, as its supervisor sees it: started with the run and ended with it, and never
waited for beyond its time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from unstall.runs import RunFolder

COMMAND = (sys.executable, "-m", "unstall.storage.keeping")  # called with the run folder and the place in the bucket
FINISHES_WITHIN_S = 20.0  # a machine that is taken away gives half a minute, of which the checkpoint on the disk takes up to ten


@contextmanager
def kept_in_bucket(run: RunFolder, say: Callable[[str], None]) -> Iterator[None]:
    """Nothing for a run without a bucket."""
    place = run.bucket
    if not place:
        yield
        return
    # A session of its own: Ctrl-C is for the training, and what it leaves behind is still to be kept.
    process = subprocess.Popen([*COMMAND, str(run.path), place], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        _end(process, place, say)


def _end(process: subprocess.Popen[bytes], place: str, say: Callable[[str], None]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:
        pass  # it has ended already, and has said why
    try:
        code = process.wait(FINISHES_WITHIN_S)
    except subprocess.TimeoutExpired:
        say(f"not everything is in {place} yet: process {process.pid} goes on with it for as long as the machine runs.")
        return
    if code:
        say(f"not everything is in {place}. What is missing is on this disk.")
