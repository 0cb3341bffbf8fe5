"""Files of ours that the program does not meet: it must get the descriptor numbers that it would get alone.

A program that has closed its standard output must find it closed, not our journal in its place; and one that closes
all descriptors and opens its own files must never find our lines in them.

Standard library only, syntax of Python 3.7: it runs inside the watched program.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

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
