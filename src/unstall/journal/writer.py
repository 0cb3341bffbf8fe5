"""Appends events to one JSONL file. Never raises and never holds up the caller.

On a local disk an event is handed to the kernel before `write` returns, so it survives a SIGKILL a moment later. On a
network disk, and from the first write that takes long, events go through a short queue and a thread of their own: a
dead server must not stop a training. A full disk or a queue that overflows loses events, counts them, and says so with
`EventsLost` as soon as it can write again; the watcher keeps those that its own journal lost, and judges by them all the same.
A journal that somebody deletes is written again, whole, as soon as its folder is there again: the folder itself is not made
anew, as the program may have deleted it on purpose.

Standard library only, syntax of Python 3.7: it runs inside the watched program.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from unstall.base.files import FILE_MODE
from unstall.base.redact.text import redact_json, refresh_from_environment
from unstall.journal.events import ErrorRaised, Event, EventsLost, WarningShown, to_plain

HIGH = (512, 64, 3)  # the least number, the best first: the program's limit may allow no high ones


def move_descriptor_up(descriptor: int) -> int:
    """The same open file under a high number, closed on exec; the given number is free again."""
    for least in HIGH:
        try:
            high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
        except OSError:
            continue
        os.close(descriptor)
        return high
    return descriptor


def read_identity(descriptor: int) -> Optional[tuple[int, int]]:
    """Which file it is; None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_removed(descriptor: int) -> bool:
    """Whether the file has no name any more: somebody has deleted it."""
    return os.fstat(descriptor).st_nlink == 0


def read_content(descriptor: int) -> bytes:
    """All that is in an open file, deleted or not, also where it was opened for writing alone."""
    with reserve_standard_numbers(), open(f"/proc/self/fd/{descriptor}", "rb") as file:
        return file.read()


def check_file_size(size: int) -> None:
    """OSError where the program may not have so large a file (`ulimit -f`).

    To write beyond that limit sends SIGXFSZ, which ends a program that does not ignore it, or calls its handler: neither may
    happen on our account.
    """
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and size > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


@contextmanager
def reserve_standard_numbers() -> Iterator[None]:
    """While this holds, nothing that is opened gets the number 0, 1 or 2."""
    taken: list[int] = []
    try:
        while not taken or taken[-1] <= 2:
            taken.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)


SLOW_WRITE_S = 0.05  # a write that takes longer, and waits for something, moves all further ones into the thread
QUEUE_EVENTS = 2000
MESSAGES = (ErrorRaised, WarningShown)  # texts of the program, and few
MAX_KEPT = 2000  # of the events that were lost, the newest
RETRY_AFTER_ERROR_S = 1.0
REMOTE_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "lustre", "gpfs", "beegfs", "ceph", "afs"})


def count_waits() -> int:
    """How often this thread has waited for something. That it was ready and had no core is none of them: on a crowded machine a
    write to a quick disk takes long, too."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def encode(event: Event) -> bytes:
    """One line, without secrets. Not-finite numbers become null: JSON has no word for them."""
    refresh_from_environment(is_urgent=isinstance(event, MESSAGES))
    plain = to_plain(event)
    try:
        text = json.dumps(plain, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        text = json.dumps(replace_not_finite(plain), allow_nan=False, separators=(",", ":"), default=str)
    return redact_json(text).encode("utf-8", "backslashreplace") + b"\n"


def replace_not_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: replace_not_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_not_finite(item) for item in value]
    return value


def is_remote(path: Path) -> bool:
    """Whether the path lies on a network file system, by the kernel's own mount table."""
    try:
        target = str(path.resolve())
        best, kind = "", ""
        with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                fields = line.split()
                at = fields[1].replace("\\040", " ")
                if len(at) > len(best) and (target == at or target.startswith(at.rstrip("/") + "/")):
                    best, kind = at, fields[2]
    except (OSError, IndexError):
        return False
    return kind in REMOTE_FILE_SYSTEMS or kind.startswith("fuse.")


class JournalWriter:
    """One per process. `write` may be called from any thread."""

    def __init__(self, path: Path, keeps_lost: bool = False) -> None:
        """`keeps_lost`: events that could not be written are kept for `take_lost`."""
        self.path = path
        self._kept: Optional[deque[Event]] = deque(maxlen=MAX_KEPT) if keeps_lost else None
        self._is_torn = False
        self._pid = os.getpid()
        self._file: Optional[int] = None
        self._identity: Optional[tuple[int, int]] = None
        self._lock = threading.Lock()
        self._lost = 0
        self.lost_why = ""
        self._retry_at = 0.0
        self._queue: Optional[deque[tuple[Event, bytes]]] = None
        self._wake = threading.Event()
        self._closed = False
        self.on_brought_back: Callable[[], None] = lambda: None
        if is_remote(path.parent):
            self._start_thread()

    def write(self, event: Event) -> None:
        # A forked child inherits this object, but the journal belongs to the parent.
        if self._closed or os.getpid() != self._pid:
            return
        try:
            line = encode(event)
        except (TypeError, ValueError, RecursionError) as error:
            self._lose(event, f"{type(event).__name__} cannot be written: {error}")
            return
        if self._queue is not None:
            self._enqueue(event, line)
        elif self._lock.acquire(timeout=SLOW_WRITE_S):
            try:
                self._put(event, line)
            finally:
                self._lock.release()
        else:
            self._start_thread()
            self._enqueue(event, line)

    def take_lost(self) -> list[Event]:
        """The events that could not be written since the last call; none unless they are kept."""
        taken: list[Event] = []
        while self._kept:
            taken.append(self._kept.popleft())
        return taken

    def flush(self, timeout_s: float) -> None:
        """Waits until what is queued has been written, for as long as the timeout allows."""
        deadline = time.monotonic() + timeout_s
        while self._queue and time.monotonic() < deadline:
            self._wake.set()
            time.sleep(0.005)

    def close(self, timeout_s: float = 1.0) -> None:
        """Writes what is queued, for as long as the timeout allows."""
        self.flush(timeout_s)
        self._closed = True
        self._wake.set()

    def _put(self, event: Event, line: bytes) -> None:
        began, waits = time.monotonic(), count_waits()
        if began < self._retry_at:
            self._lose(event, self.lost_why)
            return
        try:
            if self._file is None or read_identity(self._file) != self._identity:
                self._open()  # for the first time, or because the program has closed it and may have put its own there
            elif is_removed(self._file) and self.path.parent.is_dir() and not self.path.exists():
                self._bring_back(self._file)  # some file systems count no names at all: there the path tells that it is there
            if self._lost:
                notice = encode(EventsLost(at=time.time(), count=self._lost, why=self.lost_why))
                self._write_whole(notice)
                self._lost = 0
            self._write_whole(line)
        except OSError as error:
            self._lose(event, f"{error.strerror or error}")
            self._retry_at = time.monotonic() + RETRY_AFTER_ERROR_S
            return
        if self._queue is None and time.monotonic() - began > SLOW_WRITE_S and count_waits() > waits:
            self._start_thread()

    def _open(self) -> None:
        self._file = None
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._file = move_descriptor_up(file)
        self._identity = read_identity(self._file)

    def _bring_back(self, removed: int) -> None:
        known = read_content(removed)
        self._open()
        os.close(removed)
        self._write_whole(known)
        self.on_brought_back()

    def _write_whole(self, line: bytes) -> None:
        assert self._file is not None
        if self._is_torn:  # a disk that was filling up took a part of the last one: this one begins in a line of its own
            line = b"\n" + line
        check_file_size(os.fstat(self._file).st_size + len(line))
        written = os.write(self._file, line)
        self._is_torn = written < len(line)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _enqueue(self, event: Event, line: bytes) -> None:
        queue = self._queue
        if queue is None or len(queue) >= QUEUE_EVENTS:
            self._lose(event, "the disk is too slow")
            return
        queue.append((event, line))
        self._wake.set()

    def _lose(self, event: Event, why: str) -> None:
        self._lost += 1
        self.lost_why = why
        if self._kept is not None:
            self._kept.append(event)

    def _start_thread(self) -> None:
        if self._queue is None:
            self._queue = deque()
            try:
                threading.Thread(target=self._drain, name="unstall-journal", daemon=True).start()
            except RuntimeError:  # the program may start no more of them: what the queue cannot take is lost, and counted
                return

    def _drain(self) -> None:
        queue = self._queue
        assert queue is not None
        while not self._closed:
            self._wake.wait(1.0)
            self._wake.clear()
            while queue:
                self._put(*queue[0])
                queue.popleft()  # only now: `flush` waits for events that are not in the file yet
