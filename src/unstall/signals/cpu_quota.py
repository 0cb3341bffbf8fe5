"""How many cores' worth of time a control group gives a process; versions 1 and 2."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def cores(pid: int, root: Path = ROOT, proc: Path = Path("/proc")) -> float | None:
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
