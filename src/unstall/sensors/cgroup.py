"""The memory control group of a process: use, limit and how often the kernel has killed in it; versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60  # version 1 says "no limit" with a number near the largest


@dataclass(frozen=True)
class Group:
    folder: Path
    version: int


def find(pid: int) -> Group | None:
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    unified: str | None = None
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _existing(ROOT / "memory", path, 1)
        if number == "0":
            unified = path
    return _existing(ROOT, unified, 2) if unified is not None else None


def _existing(base: Path, path: str, version: int) -> Group | None:
    """In a container the path is often the host's, and the group is mounted at the base."""
    marker = "memory.usage_in_bytes" if version == 1 else "memory.current"
    for folder in (base / path.lstrip("/"), base):
        if (folder / marker).exists():
            return Group(folder, version)
    return None


def read(group: Group | None) -> tuple[int | None, int | None, int | None]:
    """(bytes used without reclaimable cache, limit in bytes or None, kills for want of memory or None)."""
    if group is None:
        return None, None, None
    return _used(group.folder, group.version), read_limit(group), read_kills(group)


def read_free_bytes(group: Group) -> int | None:
    """What the group may still take, by its own limit and those of the groups around it, whoever is in them; None if none has
    one."""
    base = ROOT / "memory" if group.version == 1 else ROOT
    around = [folder for folder in (group.folder, *group.folder.parents) if folder.is_relative_to(base)]
    limits = {folder: _number(folder / ("memory.limit_in_bytes" if group.version == 1 else "memory.max")) for folder in around}
    real = {folder: limit for folder, limit in limits.items() if limit is not None and limit < NO_LIMIT}
    return min((max(0, limit - (_used(folder, group.version) or 0)) for folder, limit in real.items()), default=None)


def _used(folder: Path, version: int) -> int | None:
    """Without files that the kernel keeps in memory as long as nobody needs it."""
    used = _number(folder / ("memory.usage_in_bytes" if version == 1 else "memory.current"))
    total = "total_" if version == 1 else ""
    cached = [_keyed(folder / "memory.stat", f"{total}{kind}_file") or 0 for kind in ("inactive", "active")]
    return None if used is None else max(0, used - sum(cached))


def read_kills(group: Group) -> int | None:
    """How often the kernel has killed in the group for want of memory, ever."""
    file = "memory.oom_control" if group.version == 1 else "memory.events"
    return _keyed(group.folder / file, "oom_kill")


def read_peak(group: Group) -> int | None:
    """The most bytes that the group ever used."""
    return _number(group.folder / ("memory.max_usage_in_bytes" if group.version == 1 else "memory.peak"))


def read_limit(group: Group) -> int | None:
    """The tightest limit of the group and of those around it; None if there is none."""
    if group.version == 1:
        limits = [_keyed(group.folder / "memory.stat", "hierarchical_memory_limit")]
    else:
        around = [group.folder, *group.folder.parents]
        limits = [_number(folder / "memory.max") for folder in around if folder.is_relative_to(ROOT)]
    real = [found for found in limits if found is not None and found < NO_LIMIT]
    return min(real, default=None)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None  # "max" means no limit


def _keyed(path: Path, key: str) -> int | None:
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    except (OSError, ValueError):
        pass
    return None


# How many cores' worth of time a control group gives a process; versions 1 and 2.


def read_cores(pid: int, root: Path = ROOT, proc: Path = Path("/proc")) -> float | None:
    """The tightest quota of the group and of those around it; None where there is none."""
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    quotas: list[float | None] = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            quotas += [_version_1(folder) for folder in _around(root / "cpu", path)]
        elif number == "0":
            quotas += [_version_2(folder) for folder in _around(root, path)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _around(base: Path, path: str) -> list[Path]:
    """In a container the path is often the host's, and the group is mounted at the base."""
    folder = base / path.lstrip("/")
    return [base, *(each for each in (folder, *folder.parents) if each != base and each.is_relative_to(base))]


def _version_2(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _version_1(folder: Path) -> float | None:
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        return None if quota <= 0 else quota / int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError, ZeroDivisionError):
        return None
