"""What the program does with signals when it begins: what it would do alone, started by whoever started us.

An ignored signal stays ignored in a program that is started. Python ignores SIGPIPE and SIGXFSZ for itself when it starts, and
does not say what was before; and an ignored SIGCHLD would have the kernel forget how the program ended, so we do not ignore it.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# Who starts programs with the signals ignored that it ignores. Others (Python, programs in Rust) ignore SIGPIPE themselves, and
# start programs without.
PASSES_SIGNALS_ON = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "busybox", "systemd"})


@cache
def inherited_ignored() -> frozenset[int]:
    """Those of SIGPIPE, SIGXFSZ and SIGCHLD that we were started with ignored, as far as it can be known. From here on SIGCHLD is
    not ignored any more."""
    found = {number for number in IGNORED_BY_PYTHON if _is_ignored_by(os.getppid(), number)}
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        found.add(signal.SIGCHLD)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return frozenset(int(number) for number in found)


def _is_ignored_by(parent: int, number: int) -> bool:
    try:
        name = Path(f"/proc/{parent}/comm").read_text().strip()
        lines = Path(f"/proc/{parent}/status").read_text().splitlines()
        ignored = int(next(line for line in lines if line.startswith("SigIgn:")).split()[1], 16)
    except (OSError, ValueError, IndexError, StopIteration):
        return False
    return name in PASSES_SIGNALS_ON and bool(ignored >> (number - 1) & 1)


def spawn(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], prints_on_stderr: bool) -> int:
    """The number of the process that runs the program. OSError where it cannot be started."""
    ignored = inherited_ignored()
    if signal.SIGCHLD in ignored:
        return _fork(command, environment, mask, prints_on_stderr)
    default = [number for number in IGNORED_BY_PYTHON if number not in ignored]
    actions = [(os.POSIX_SPAWN_DUP2, 2, 1)] if prints_on_stderr else []
    return os.posix_spawnp(command[0], list(command), environment, setsigmask=mask, setsigdef=default, file_actions=actions)


def _fork(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], prints_on_stderr: bool) -> int:
    """The same where SIGCHLD is to be ignored again: posix_spawn can only have signals not ignored."""
    told, tell = os.pipe()  # closed when the program begins; else it tells why it did not
    pid = os.fork()
    if pid == 0:
        _become(command, environment, mask, prints_on_stderr, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as file:
        why = file.read()
    if why:
        os.waitpid(pid, 0)
        raise OSError(int(why), os.strerror(int(why)))
    return pid


def _become(
    command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], prints_on_stderr: bool, tell: int
) -> NoReturn:
    why = errno.EINVAL
    try:
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_IGN if number in inherited_ignored() else signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if prints_on_stderr:
            os.dup2(2, 1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        why = error.errno or why
    finally:
        os.write(tell, str(why).encode())
        os._exit(127)
