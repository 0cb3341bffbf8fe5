"""Refuses to start the command of a run that somebody else could have written."""

from __future__ import annotations

import os
import platform
import stat
from pathlib import Path

from unstall.errors import WrongInput
from unstall.journal.events import CircumstancesSeen
from unstall.journal.reader import JOURNAL_FILES, Journal
from unstall.runs import RunFolder, user_name
from unstall.storage.mirroring import is_copy


def refuse_foreign(run: RunFolder, journal: Journal) -> None:
    """WrongInput, with what shows that the run is not this user's own on this machine."""
    why = why_foreign(run, journal)
    if why is not None:
        raise WrongInput(
            f"The command of run '{run.name}' is not started: {why} Expected a run of your own, recorded on this machine. "
            "To watch the program and make the experiments: unstall run --confirm -- COMMAND"
        )


def why_foreign(run: RunFolder, journal: Journal) -> str | None:
    """None: nothing shows that anybody else has written it."""
    if is_copy(run):
        return f"the run is a copy of {run.bucket or 'one in a bucket'}."
    for path in (run.path, *sorted(run.path.glob(JOURNAL_FILES))):
        if (why := _why_not_own(path)) is not None:
            return why
    seen = journal.last(CircumstancesSeen)
    recorded = str(seen.machine.get("hostname") or "") if seen is not None else ""
    if recorded and recorded != platform.node():
        return f"it was recorded on '{recorded}', and this machine is '{platform.node()}'."
    return None


def _why_not_own(path: Path) -> str | None:
    status = path.stat()
    if status.st_uid != os.geteuid():
        return f"'{path}' belongs to user {user_name(status.st_uid)}."
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder = path if path.is_dir() else path.parent
        mode = stat.filemode(status.st_mode)
        return f"others can write to '{path}' ({mode}). If all in it is yours: chmod -R go-w '{folder}'."
    return None
