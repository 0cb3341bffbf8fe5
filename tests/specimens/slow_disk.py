"""A slow disk, for one specimen: the kernel's own limit on the bytes a second this process may read.

Stands for the network disk or the overloaded volume that a user's data lies on. Needs root and the blkio (cgroup
v1) or io (v2) controller. The empty group stays behind; every start removes those of the dead.
"""

import contextlib
import os
from pathlib import Path

_PREFIX = "unstall-specimen-"
_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")


def limit_reading(folder: Path, bytes_per_second: int) -> None:
    """From now on this process reads the disk that holds `folder` no faster than this."""
    version_1 = (_V1 / "cgroup.procs").exists()
    root = _V1 if version_1 else _V2
    _remove_leftovers(root)
    device = folder.stat().st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    group = root / f"{_PREFIX}{os.getpid()}"
    group.mkdir()
    if version_1:
        (group / "blkio.throttle.read_bps_device").write_text(f"{name} {bytes_per_second}")
    else:
        with contextlib.suppress(OSError):  # already on
            (root / "cgroup.subtree_control").write_text("+io")
        (group / "io.max").write_text(f"{name} rbps={bytes_per_second}")
    (group / "cgroup.procs").write_text(str(os.getpid()))


def write_uncached(path: Path, content: bytes) -> None:
    """Write a file and drop it from the page cache, so that the next read goes to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def forget_cached(path: Path) -> None:
    """Drop a finished file from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _remove_leftovers(root: Path) -> None:
    for group in root.glob(f"{_PREFIX}*"):
        if not Path("/proc", group.name.removeprefix(_PREFIX)).exists():
            with contextlib.suppress(OSError):  # a child of the dead specimen may still be in it
                group.rmdir()
