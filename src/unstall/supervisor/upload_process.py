"""The process that keeps a run's copy in a bucket, as its supervisor sees it: started with the run and ended with it, and never
waited for beyond its time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from unstall.journal.run_folder import RunFolder

COMMAND = (sys.executable, "-m", "unstall.storage.uploader")  # called with the run folder and the place in the bucket
HURRIES_S = 20.0  # a machine that is taken away gives half a minute, of which the checkpoint on the disk takes up to ten
WAITS_S = 65.0  # where nobody hurries: a little longer than the process itself goes on trying
SAYS_SO_AFTER_S = 5.0


@dataclass
class UploadState:
    """What is known of the copy. `has_time`: its end may be waited for, as nobody takes the machine away."""

    has_time: bool = False
    is_whole: bool = True


@contextmanager
def upload_run(run: RunFolder, say: Callable[[str], None]) -> Iterator[UploadState]:
    """Nothing for a run without a bucket."""
    place, kept = run.bucket, UploadState()
    if not place:
        yield kept
        return
    # A session of its own: Ctrl-C is for the training, and what it leaves behind is still to be kept.
    process = subprocess.Popen([*COMMAND, str(run.path), place], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield kept
    finally:
        kept.is_whole = _ended(process, kept.has_time, place, run, say)


def _ended(process: subprocess.Popen[bytes], has_time: bool, place: str, run: RunFolder, say: Callable[[str], None]) -> bool:
    """Whether everything is there; what is not is said."""
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:
        pass  # it has ended already, and has said why
    try:
        code = _waited_for(process, has_time, place, say)
    except subprocess.TimeoutExpired:
        say(f"not everything is in {place} yet: process {process.pid} tries for a minute at most. All of it is in {run.path}.")
        return False
    if code:
        say(f"not everything is in {place}. All of it is in {run.path}, on this disk.")
    return code == 0


def _waited_for(process: subprocess.Popen[bytes], has_time: bool, place: str, say: Callable[[str], None]) -> int:
    if not has_time:
        return process.wait(HURRIES_S)
    try:
        return process.wait(SAYS_SO_AFTER_S)
    except subprocess.TimeoutExpired:
        say(f"waiting until everything is in {place}, a minute at most …")
        return process.wait(WAITS_S - SAYS_SO_AFTER_S)
