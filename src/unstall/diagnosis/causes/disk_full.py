"""There is no room left on the disk that the program writes to.

What it is
----------
A checkpoint, a log or a cache could not be written because the file system is full, out of file entries, or over a
quota. What was being written is torn: the last whole checkpoint is the one before.

How we know
-----------
The error that ended the program says so (`No space left on device`, error 28; `Disk quota exceeded`, error 122; a write
that took only a part). The room on the file systems is read right afterwards.

When this is wrong
------------------
A write that took only a part may have another reason on a network disk; it counts only where the room is gone too.
The same error comes where the shared memory of processes is full, or no more files can be watched for changes: that is
`system_limit_reached`.

What to do
----------
Make room, keep fewer checkpoints, or write them elsewhere. Delete the torn file before going on from it.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.fatal_error import (
    find_fatal_error,
    find_unseen_end,
    find_user_line,
    format_texts,
    get_first_line,
    is_of_shared_memory,
)
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import CheckpointSaved, DiskSeen, ErrorRaised
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

EXPLAINS = ("checkpoint_slow",)
NO_ROOM_BYTES = 1_000_000  # less is no room for anything that a training writes

_SAYS_SO = re.compile(r"No space left on device|Disk quota exceeded|errno = 28|Errno 28|Errno 122|ENOSPC|EDQUOT")
_QUOTA = re.compile(r"quota|EDQUOT|Errno 122", re.IGNORECASE)
_PART_WRITTEN = re.compile(
    r"(?P<wanted>\d+) requested and (?P<written>\d+) written|[Cc]an't write data|[Ww]rite failed|file write failed"
    r"|unexpected pos \d+ vs \d+|failed writing file"
)


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is None:
        return find_unseen_end(journal) or Clear("no write failed")
    if is_of_shared_memory(error) or any("inotify" in text for text in format_texts(error)):
        return Clear("what had no room left is no disk")
    full = [disk for disk in journal.of(DiskSeen) if disk.free_bytes < NO_ROOM_BYTES or disk.free_inodes == 0]
    said = next((text for text in format_texts(error) if _SAYS_SO.search(text)), None)
    part = next((text for text in format_texts(error) if _PART_WRITTEN.search(text)), None)
    if said is None and not (part and full):
        return Clear("the error is about something else")
    return _found(journal, error, said or part or "", full)


def _found(journal: Journal, error: ErrorRaised, said: str, full: list[DiskSeen]) -> Found:
    saved = journal.last(CheckpointSaved)
    where = find_user_line(error, find_program_folder(journal))
    evidence = [Evidence(f"the error that ended it: {get_first_line(said)}", said[:500], None, (error,))]
    disk = full[-1] if full else None
    if disk is not None:
        room = f"{disk.free_bytes / 2**20:.1f} MiB of {disk.total_bytes / 2**20:,.0f} MiB are free on {disk.mount}"
        room += ", and no entry for another file" if disk.free_inodes == 0 else ""
        evidence.append(Evidence(room, disk.free_bytes, NO_ROOM_BYTES, (disk,)))
    doing = "while saving a checkpoint" if error.phase == "save" else "while writing"
    on = f" on {disk.mount}" if disk else ""
    what = "The quota of the disk is used up" if _QUOTA.search(said) and disk is None else f"The disk{on} is full"
    last = f" The last thing saved before was {saved.path}." if saved and saved.path else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{what}: the program ended {doing}.{last}",
        evidence=tuple(evidence),
        actions=(
            "make room, keep fewer checkpoints, or write them to another disk",
            "before you go on from a checkpoint, see that it is whole: the file that was being written may be cut off",
        ),
        where=where,
        effect=Effect.STOPS,
    )
