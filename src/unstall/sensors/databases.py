"""The SQLite files that a process has open, and who has them locked: from the kernel's own list of locks.

SQLite locks bytes of the file itself, from 1 GiB on, or (with a write-ahead log) of the file -shm beside it. Nothing is opened or
asked of a file system: a look at a file of a server that does not answer would hang.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.journal.events import DatabasesSeen
from unstall.sensors.threads import look

PENDING, SHARED_LAST = 0x40000000, 0x400001FF  # between them: who means to write, and who reads
WAL_WRITE = 120  # the byte of -shm that a writer locks
MAX_FILES = 4000
BESIDE = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Lock:
    pid: int
    is_write: bool
    inode: int
    first: int
    last: int

    def covers(self, byte: int) -> bool:
        return self.first <= byte <= self.last


def sample(pid: int, main: bool = True) -> DatabasesSeen | None:
    """None where the process has no SQLite file open that somebody has locked."""
    try:
        locks = _locks(Path("/proc/locks").read_text())
    except OSError:
        return None
    files = dict(_files(pid))
    found = [_database(pid, path, inode, files, locks) for path, inode in files.items() if not path.endswith(BESIDE)]
    databases = [database for database in found if database is not None]
    return DatabasesSeen(at=time.time(), pid=pid, main=main, databases=databases) if databases else None


def _database(pid: int, path: str, inode: int, files: dict[str, int], locks: list[Lock]) -> dict[str, Any] | None:
    blocking = _blocking(pid, inode, files.get(f"{path}-shm"), locks)
    if blocking is None:
        return None
    holder = look(blocking.pid) if blocking.pid > 0 else None  # 0 or less: a process of another container
    return {
        "path": path,
        "holder_pid": blocking.pid if blocking.pid > 0 else None,
        "holder": holder.command if holder is not None else [],
        "writes": blocking.is_write,
    }


def _blocking(pid: int, inode: int, shared: int | None, locks: list[Lock]) -> Lock | None:
    """The lock that is waited for: that of whoever writes; or, without a log, that of a reader whom a writer must let finish."""
    of_file = [lock for lock in locks if lock.inode == inode and lock.last >= PENDING and lock.first <= SHARED_LAST]
    of_log = [lock for lock in locks if shared is not None and lock.inode == shared and lock.covers(WAL_WRITE)]
    writing = [lock for lock in (*of_log, *of_file) if lock.is_write]
    others_write = [lock for lock in writing if lock.pid != pid]
    others_read = [lock for lock in of_file if shared is None and lock.pid != pid and not lock.is_write]
    waits_for_readers = any(lock.pid == pid and lock.covers(PENDING) for lock in writing)
    own = [] if waits_for_readers else writing
    return next(iter((*others_write, *own, *others_read)), None)


def _files(pid: int) -> Iterator[tuple[str, int]]:
    """Path and inode of each plain file that it has open."""
    try:
        numbers = sorted(Path(f"/proc/{pid}/fd").iterdir())[:MAX_FILES]
    except OSError:
        return
    for link in numbers:
        try:
            path = str(link.readlink())
            facts = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text()
        except OSError:
            continue
        inode = next((int(line.split()[1]) for line in facts.splitlines() if line.startswith("ino:")), None)
        if path.startswith("/") and inode is not None:  # an older kernel does not tell it
            yield path, inode


def _locks(text: str) -> list[Lock]:
    """Of '1: POSIX  ADVISORY  WRITE 7300 fe:00:2229325 1073741825 1073741825'; one that only waits ('1: -> POSIX …') is none."""
    found = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[1] not in {"POSIX", "OFDLCK"}:
            continue
        try:
            last = SHARED_LAST if fields[7] == "EOF" else int(fields[7])
            found.append(Lock(int(fields[4]), fields[3] == "WRITE", int(fields[5].rsplit(":", 1)[1]), int(fields[6]), last))
        except ValueError:
            continue
    return found
