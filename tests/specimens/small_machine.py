"""A machine with little memory, for one specimen: its own memory cgroup, and swap space where it asks for some.

Stands for the container or the batch job a user's training runs in. The process moves itself in, so the
kernel's own limit, counters and killer do the rest. The empty group stays behind, as a container's does while
somebody reads its counters; every start, and remove_leftovers(), removes those of the dead.
"""

import atexit
import contextlib
import os
import subprocess
from pathlib import Path

_PREFIX = "unstall-specimen-"
_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")
_SWAP_FOLDER = Path("/var/tmp")


def limit_memory(limit_bytes: int) -> None:
    """Move this process, and all it starts later, into a cgroup of its own with this memory limit."""
    version_1 = (_V1 / "memory.limit_in_bytes").exists()
    root = _V1 if version_1 else _V2
    remove_leftovers()
    group = root / f"{_PREFIX}{os.getpid()}"
    group.mkdir()
    (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(limit_bytes))
    (group / "cgroup.procs").write_text(str(os.getpid()))


def remove_leftovers() -> None:
    """Remove the groups and the swap files of specimens that have ended."""
    for root in (_V1, _V2):
        for group in root.glob(f"{_PREFIX}*"):
            if not _alive(group.name.removeprefix(_PREFIX)):
                with contextlib.suppress(OSError):  # a child of the dead specimen may still be in it
                    group.rmdir()
    for file in _SWAP_FOLDER.glob(f"{_PREFIX}*.swap"):
        if not _alive(file.stem.removeprefix(_PREFIX)):
            _drop_swap(file)


def add_swap(size_bytes: int) -> None:
    """Give the whole machine this much swap space until this process ends."""
    file = _SWAP_FOLDER / f"{_PREFIX}{os.getpid()}.swap"
    remove_leftovers()
    with file.open("wb") as space:
        os.posix_fallocate(space.fileno(), 0, size_bytes)
    file.chmod(0o600)
    subprocess.run(["mkswap", str(file)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", str(file)], check=True)
    atexit.register(_drop_swap, file)


def _alive(pid: str) -> bool:
    return Path("/proc", pid).exists()


def _drop_swap(file: Path) -> None:
    subprocess.run(["swapoff", str(file)], check=False, stderr=subprocess.DEVNULL)
    file.unlink(missing_ok=True)
