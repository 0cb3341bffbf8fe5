"""The program waits for a SQLite file that another connection has locked.

What it is
----------
A tracker, a log or an index of the data lies in a SQLite file. Somebody has begun to write to it and has not committed: another
run, a notebook, a worker, or a second connection of the program itself. SQLite then looks again and again, for as long as the
connection's timeout says, without a word. When that is over it ends in 'database is locked'.

How we know
-----------
Nothing has moved for much longer than the run's history allows, and next to no CPU is used. A thread stands at the same line in
every stack sample, inside of SQLite as the native stack shows, or at a line that executes or commits; and the kernel's list of
locks says who has locked a SQLite file that the process has open. Or the program ended with SQLite's error.

When this is wrong
------------------
If the other one is about to commit: a long import, say. When it does, the verdict is taken back.

What to do
----------
Commit or end what holds the lock. Keep transactions short: compute first, then begin, write and commit. `PRAGMA
journal_mode=WAL` lets readers go on beside a writer. Give `connect()` a timeout of seconds and try again on its error.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from unstall.diagnosis.causes.generator_blocked import describe_caller, find_input_frames
from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_user_line, format_texts, get_first_line
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import DatabasesSeen, ErrorRaised
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, is_native, select_user_frames

EXPLAINS = ("generator_blocked", "callback_blocked", "lock_deadlock")

_LOCKED = re.compile(r"sqlite3\.OperationalError.*database (table )?is locked", re.DOTALL)
_ASKS = re.compile(r"\.(execute|executemany|executescript|commit|fetchone|fetchall|fetchmany|backup)\(|^with ")
_SLEEP = "a sleep to end"
_ACTIONS = (
    "keep transactions short: compute first, then begin, write and commit",
    "switch to `PRAGMA journal_mode=WAL`, with which readers go on beside a writer",
    "give connect() a timeout of a few seconds, and try again when it says that the database is locked",
)


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is not None and any(_LOCKED.search(text) for text in format_texts(error)):
        return _ended(journal, error)
    stall = find_idle_stall(journal, counts_children=True)
    if not isinstance(stall, Stall):
        return stall
    seen = journal.since(DatabasesSeen, stall.began.since)
    for still in stall.still():
        locked = [event for event in seen if event.pid == still.pid]
        is_inside = _is_inside(still)
        if _matters(still) and (is_inside or (locked and _asks(stall, still))):
            return _found(journal, stall, still, locked[-1] if locked else None, is_inside)
    return Clear("no thread waits for a SQLite file")


def _matters(still: StuckThread) -> bool:
    """Whether the training can be waiting for this thread."""
    return still.thread["name"] == "MainThread" or bool(find_input_frames(still.thread))


def _is_inside(still: StuckThread) -> bool:
    """In SQLite, and asleep there: one that reads or sorts works."""
    native = [frame for frame in still.thread["frames"] if is_native(frame)]
    in_sqlite = any("sqlite3" in frame["function"] or "libsqlite" in frame["module"] for frame in native)
    return in_sqlite and find_wait(still.thread, still.call) == _SLEEP


def _asks(stall: Stall, still: StuckThread) -> bool:
    """Whether it sleeps at a line that asks a data base for something."""
    if find_wait(still.thread, still.call) != _SLEEP:
        return False
    inner = next((frame for frame in still.thread["frames"] if not is_native(frame)), None)
    source = stall.source(inner["file"], inner["line"]) if inner is not None else None
    by_library = inner is not None and any(part in inner["file"] for part in ("sqlalchemy/", "sqlite3/"))
    return by_library or (source is not None and bool(_ASKS.search(source.text)))


def _found(journal: Journal, stall: Stall, still: StuckThread, seen: DatabasesSeen | None, is_inside: bool) -> Found:
    folder = find_program_folder(journal)
    frames = select_user_frames(still.thread)
    place = format_where(frames[0], folder) if frames else None
    at = f" at {place}{describe_caller(frames, folder)}" if place else ""
    database = seen.databases[0] if seen is not None and seen.databases else None
    count = len(still.samples)
    evidence = [Evidence(f"it stands{at} ({count} of {count} samples)", place, None, still.samples)]
    if seen is not None and database is not None:
        evidence.insert(
            0, Evidence(f"{database['path']} is locked by {_holder(database, still.pid)}", database["path"], None, (seen,))
        )
    evidence += [each for each in (stall.idleness(), stall.lateness()) if each is not None]
    return Found(
        certainty=Certainty.CERTAIN if is_inside and database is not None else Certainty.LIKELY,
        summary=_summary(database, still.pid, at),
        evidence=tuple(evidence),
        actions=(*_first_action(database, still.pid), *_ACTIONS),
        where=place,
    )


def _summary(database: dict[str, Any] | None, pid: int, at: str) -> str:
    if database is None:
        return f"The program sleeps inside of SQLite{at}, as it does while another connection has locked the file."
    return (
        f"The program waits{at} for the SQLite file {database['path']}, which {_holder(database, pid)} has locked. Until that"
        " commits or ends, or the timeout of the connection is over, SQLite looks again and again without a word."
    )


def _holder(database: dict[str, Any], pid: int) -> str:
    holder, command = database.get("holder_pid"), shlex.join(database.get("holder") or [])[:120]
    if holder == pid:
        return "another connection of this same process"
    if holder is None:
        return "a process that is not seen from here (of another container, say)"
    return f"process {holder} ({command})" if command else f"process {holder}"


def _first_action(database: dict[str, Any] | None, pid: int) -> tuple[str, ...]:
    holder = database.get("holder_pid") if database is not None else None
    if holder is None:
        return ("look for what has the file open: `fuser FILE`, and let it commit or end",)
    if holder == pid:
        return ("commit or close the other connection of the program before this one writes, or use one connection for both",)
    return (f"let process {holder} commit, or end it",)


def _ended(journal: Journal, error: ErrorRaised) -> Found:
    said = next(text for text in format_texts(error) if _LOCKED.search(text))
    return Found(
        certainty=Certainty.CERTAIN,
        summary="SQLite refused what the program asked for, since the database is locked, and the program ended with that error.",
        evidence=(Evidence(f"the error that ended it: {get_first_line(said)}", said[:500], None, (error,)),),
        actions=("find what has the file open (`fuser FILE`), and let it commit or end", *_ACTIONS),
        where=find_user_line(error, find_program_folder(journal)),
    )
