"""By what benchmarks/recovery makes a storage slow and memory scarce: the kernel's own means. Both need root."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import threading
import time
from pathlib import Path
from types import TracebackType

from unstall.sensors import cgroup

# --- memory ---


class MemoryGroup:
    """A memory control group of its own, of version 1 or 2, as the machine has them. What starts in it is counted in it."""

    def __init__(self) -> None:
        own = cgroup.find(os.getpid())
        if own is None:
            raise OSError("no memory control group is mounted here")
        self.version = own.version
        base = cgroup.ROOT / "memory" if own.version == 1 else cgroup.ROOT
        self.folder = base / f"unstall-recovery-{os.getpid()}-{time.monotonic_ns()}"
        self.folder.mkdir()

    def add(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def limit(self, count: int | None) -> None:
        """None: no limit. The kernel first takes back what it can of the cache of files."""
        name, without = ("memory.limit_in_bytes", "-1") if self.version == 1 else ("memory.max", "max")
        (self.folder / name).write_text(without if count is None else str(count))

    def used(self) -> int:
        """Bytes, without what the kernel can take back."""
        return cgroup.read(cgroup.Group(self.folder, self.version))[0] or 0

    def remove(self) -> None:
        """Whoever is still in it goes back to where we are."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


# --- storage ---

FAN_CLASS_CONTENT, FAN_CLOEXEC, FAN_UNLIMITED_QUEUE = 0x04, 0x01, 0x10
FAN_MARK_ADD, FAN_OPEN_PERM, FAN_EVENT_ON_CHILD, FAN_ALLOW = 0x01, 0x10000, 0x08000000, 0x01
AT_FDCWD = -100
EVENT = struct.Struct("IBBHQii")  # length, version, reserved, length of this, what, file, process
ANSWER = struct.Struct("iI")


class SlowFolder:
    """Every file of a folder opens late: the kernel asks us before each open (fanotify), and we take our time.

    As on a storage far away: what waits is the system call, and several that wait at once do not hinder each other. When this
    process ends, the kernel lets everything pass.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder, self._seconds = folder, seconds
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._asked = -1
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> SlowFolder:
        self._asked = self._called("fanotify_init", FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_UNLIMITED_QUEUE, os.O_RDONLY)
        for folder in (self._folder, *(path for path in self._folder.rglob("*") if path.is_dir())):
            what = ctypes.c_uint64(FAN_OPEN_PERM | FAN_EVENT_ON_CHILD)
            self._called("fanotify_mark", self._asked, FAN_MARK_ADD, what, AT_FDCWD, os.fsencode(folder))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()
        time.sleep(self._seconds)  # for the last that wait
        os.close(self._asked)

    def _called(self, name: str, *arguments: object) -> int:
        result: int = getattr(self._kernel, name)(*arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
        return result

    def _answer(self) -> None:
        while not self._is_over.is_set():
            if not select.select([self._asked], [], [], 0.1)[0]:
                continue
            events = os.read(self._asked, 4096)
            for begin in range(0, len(events), EVENT.size):
                threading.Timer(self._seconds, self._allow, (EVENT.unpack_from(events, begin)[5],)).start()

    def _allow(self, file: int) -> None:
        os.write(self._asked, ANSWER.pack(file, FAN_ALLOW))
        os.close(file)
