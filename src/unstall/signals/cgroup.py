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
    if group.version == 1:
        used, limit = _number(group.folder / "memory.usage_in_bytes"), _number(group.folder / "memory.limit_in_bytes")
        kills = _keyed(group.folder / "memory.oom_control", "oom_kill")
        cache = _keyed(group.folder / "memory.stat", "total_inactive_file")
    else:
        used, limit = _number(group.folder / "memory.current"), _number(group.folder / "memory.max")
        kills = _keyed(group.folder / "memory.events", "oom_kill")
        cache = _keyed(group.folder / "memory.stat", "inactive_file")
    if limit is not None and limit >= NO_LIMIT:
        limit = None
    if used is not None and cache is not None:
        used = max(0, used - cache)
    return used, limit, kills


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
