"""Cores' worth of time, as control groups of either version write it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unstall.sensors import cgroup


def made(folder: Path, line: str, files: dict[str, str]) -> tuple[Path, Path]:
    """A tree like /sys/fs/cgroup and one like /proc, of a process numbered 7."""
    (folder / "proc" / "7").mkdir(parents=True)
    (folder / "proc" / "7" / "cgroup").write_text(line)
    for name, text in files.items():
        path = folder / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "groups", folder / "proc"


@pytest.mark.parametrize(
    ("line", "files", "cores"),
    [
        ("0::/box\n", {"box/cpu.max": "200000 100000\n"}, 2.0),
        ("0::/box\n", {"box/cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "400000 100000\n"}, 1.5),
        ("0::/of/the/host\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("4:cpu,cpuacct:/box\n", {"cpu/box/cpu.cfs_quota_us": "300000\n", "cpu/box/cpu.cfs_period_us": "100000\n"}, 3.0),
        ("4:cpu,cpuacct:/box\n", {"cpu/box/cpu.cfs_quota_us": "-1\n", "cpu/box/cpu.cfs_period_us": "100000\n"}, None),
        ("0::/box\n", {"box/cpu.max": "nonsense\n"}, None),
    ],
)
def test_the_tightest_quota_holds(line: str, files: dict[str, str], cores: float | None, tmp_path: Path) -> None:
    root, proc = made(tmp_path, line, files)
    assert cgroup.read_cores(7, root, proc) == cores


def test_a_process_that_is_gone_has_none(tmp_path: Path) -> None:
    assert cgroup.read_cores(8, tmp_path, tmp_path) is None


def test_this_process_has_one_or_none() -> None:
    found = cgroup.read_cores(os.getpid())
    assert found is None or found > 0
