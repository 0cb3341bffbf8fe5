"""The heartbeat: a few numbers in shared memory that the program sets and the watcher reads, at no cost to either.

Setting one is a store into mapped memory (under a microsecond, no system call), so it is done at every step, and it is
still there when the program hangs. Times are CLOCK_MONOTONIC, which all processes of a machine share.

A store into a mapped page for which the disk has no room would end the program (SIGBUS), so the room is allocated before the
file is mapped. Where there is none (a full disk, a quota, a limit on file sizes) making a pulse is an OSError.

The layout is fixed and little-endian: magic, then eight doubles. Standard library only, syntax of Python 3.7.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from unstall.base.files import open_private
from unstall.journal.writer import check_file_size, reserve_standard_numbers

MAGIC = b"UNSTALL1"
SIZE = 4096
_LAYOUT = struct.Struct("<8s8d")
_DOUBLE = struct.Struct("<d")

PHASES = ("start", "fit", "first_step", "train", "validate", "save", "predict", "loop", "between", "ended")


def _at(index: int) -> int:
    return 8 + 8 * index


PHASE, BEGAN, BEAT, STEP, EPOCH, INPUT, PID, STEPS_DONE = (_at(index) for index in range(8))


@dataclass(frozen=True)
class Beat:
    """What the pulse said when it was read."""

    phase: str
    began: float  # monotonic: when the phase, or the step in it, began
    beat: float  # monotonic: the last sign of progress
    step: int
    epoch: int
    input_since: float  # monotonic: waiting for input in Python since; 0: not waiting
    pid: int
    steps_done: int

    def silent_s(self, now: float) -> float:
        return max(0.0, now - self.beat)


def allocate(descriptor: int, size: int) -> None:
    """Makes the file so long, with room on the disk for all of it. OSError where there is none.

    Plain zeros do it, too, where a file system or a C library has no other way.
    """
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        if os.pwrite(descriptor, bytes(size), 0) < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        os.fsync(descriptor)  # only then it is sure


class Pulse:
    """The program's side."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map = self._mapped()
        now = time.monotonic()
        _LAYOUT.pack_into(self._map, 0, MAGIC, 0.0, now, now, -1.0, -1.0, 0.0, float(os.getpid()), 0.0)
        self._set = _DOUBLE.pack_into

    def _mapped(self) -> mmap.mmap:
        with reserve_standard_numbers(), open(self.path, "w+b", opener=open_private) as file:  # the map keeps its own
            try:
                check_file_size(SIZE)
                allocate(file.fileno(), SIZE)
                return mmap.mmap(file.fileno(), SIZE)
            except OSError:
                self.path.unlink()  # an empty file would be taken for the pulse of a program whose journal is gone
                raise

    def bring_back(self) -> None:
        """In a new file, as it stands, where the old one was deleted. Without room for a new one nothing changes."""
        if self.path.exists():
            return
        try:
            mapped = self._mapped()
        except OSError:
            return
        mapped[:] = self._map[:]
        self._map = mapped

    def beat(self, now: float) -> None:
        self._set(self._map, BEAT, now)

    def phase(self, name: str, now: float) -> None:
        self._set(self._map, PHASE, float(PHASES.index(name)))
        self._set(self._map, BEGAN, now)
        self._set(self._map, BEAT, now)
        self._set(self._map, INPUT, 0.0)

    def step(self, step: int, epoch: int, now: float) -> None:
        put, memory = self._set, self._map
        put(memory, STEP, float(step))
        put(memory, EPOCH, float(epoch))
        put(memory, BEGAN, now)
        put(memory, BEAT, now)

    def at_step(self, step: int) -> None:
        self._set(self._map, STEP, float(step))

    def steps_done(self, count: int, now: float) -> None:
        self._set(self._map, STEPS_DONE, float(count))
        self._set(self._map, BEAT, now)

    def input_since(self, moment: float) -> None:
        self._set(self._map, INPUT, moment)


def read_pulse(path: Path) -> Optional[Beat]:
    """The watcher's side: None while there is no pulse, or not a whole one."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LAYOUT.size)
        magic, phase, began, beat, step, epoch, input_since, pid, done = _LAYOUT.unpack(data)
    except (OSError, struct.error):
        return None
    if magic != MAGIC or not 0 <= int(phase) < len(PHASES):
        return None
    return Beat(PHASES[int(phase)], began, beat, int(step), int(epoch), input_since, int(pid), int(done))
