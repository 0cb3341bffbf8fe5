"""kills: a real process that the kernel kills for want of memory in a control group of its own is counted and named."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from unstall.journal.events import Event, KernelSpoke, KillsCounted
from unstall.sensors import cgroup, oom_kills
from unstall.sensors.oom_kills import KillCounter

GREEDY = "input(); kept = []\nwhile True: kept.append(bytearray(1_000_000))"
IDLE = "input()"


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A real control group of 64 MB."""
    version_1 = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
    root = Path("/sys/fs/cgroup/memory" if version_1 else "/sys/fs/cgroup")
    group = root / f"unstall-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text("64000000")
    except OSError:
        pytest.skip("control groups cannot be made here: that takes root")
    yield group
    for _ in range(50):
        try:
            group.rmdir()
            break
        except OSError:
            time.sleep(0.1)


def start(program: str, group: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    (group / "cgroup.procs").write_text(str(process.pid))
    return process


def of_kind(events: list[Event], kind: type[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_a_kill_in_the_programs_group_is_counted_and_the_log_names_it(small_group: Path) -> None:
    process = start(GREEDY, small_group)
    counter = KillCounter(process.pid)
    assert counter.look({process.pid}) == []
    assert process.stdin is not None
    process.communicate(b"\n")
    assert process.returncode == -9
    events = counter.look({process.pid}, final=True)
    counted = of_kind(events, KillsCounted)[0]
    assert isinstance(counted, KillsCounted)
    assert (counted.in_group, counted.final) == (1, True)
    assert counted.limit_bytes is not None and counted.limit_bytes <= 64_000_000
    assert counted.group == str(small_group)
    if os.access(oom_kills.KERNEL_LOG, os.R_OK):
        spoke = of_kind(events, KernelSpoke)[-1]
        assert isinstance(spoke, KernelSpoke)
        assert spoke.pid == process.pid and "Killed process" in spoke.line


def test_somebody_elses_kill_is_not_the_programs(small_group: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", IDLE], stdin=subprocess.PIPE)
    counter = KillCounter(other.pid)
    greedy = start(GREEDY, small_group)
    greedy.communicate(b"\n")
    events = counter.look({other.pid}, final=True)
    other.communicate(b"\n")
    counted = of_kind(events, KillsCounted)[0]
    assert isinstance(counted, KillsCounted)
    assert counted.in_group in (0, None)
    assert not of_kind(events, KernelSpoke)


def test_a_program_that_moves_into_a_group_is_followed(small_group: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE)
    counter = KillCounter(process.pid)
    (small_group / "cgroup.procs").write_text(str(process.pid))
    counter.look({process.pid})
    process.communicate(b"\n")
    counted = of_kind(counter.look({process.pid}, final=True), KillsCounted)[0]
    assert isinstance(counted, KillsCounted)
    assert counted.in_group == 1


def test_nothing_is_told_while_nothing_is_killed() -> None:
    counter = KillCounter(os.getpid())
    assert not [event for event in counter.look({os.getpid()}) if isinstance(event, KillsCounted) and event.in_group]


def files(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_version_2_of_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    files(tmp_path / "pod", memory__max="1000000000\n", memory__current="1\n")
    folder = files(
        tmp_path / "pod" / "job",
        memory__max="max\n",
        memory__current="600\n",
        memory__stat="anon 400\ninactive_file 150\n",
        memory__events="low 0\noom 2\noom_kill 2\n",
        memory__peak="900\n",
    )
    group = cgroup.Group(folder, 2)
    assert cgroup.read(group) == (450, 1_000_000_000, 2)  # the limit is that of the group around it
    assert cgroup.read_peak(group) == 900


def test_what_is_free_is_what_the_tightest_group_around_leaves_and_cached_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    of_others = "anon 700\ninactive_file 100\nactive_file 150\n"
    files(tmp_path / "pod", memory__max="2000\n", memory__current="1900\n", memory__stat=of_others)
    own = "anon 100\ninactive_file 20\nactive_file 300\n"
    folder = files(tmp_path / "pod" / "job", memory__max="5000\n", memory__current="500\n", memory__stat=own)
    assert cgroup.read_free_bytes(cgroup.Group(folder, 2)) == 2000 - (1900 - 250)
    assert cgroup.read(cgroup.Group(folder, 2))[0] == 180
    assert cgroup.read_free_bytes(cgroup.Group(files(tmp_path / "free", memory__max="max\n", memory__current="5\n"), 2)) is None


def test_what_is_free_in_version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    stat = "cache 900\ntotal_inactive_file 300\ntotal_active_file 500\n"
    files(tmp_path / "memory" / "pod", memory__limit_in_bytes="3000\n", memory__usage_in_bytes="2900\n", memory__stat=stat)
    folder = files(
        tmp_path / "memory" / "pod" / "job", memory__limit_in_bytes="9223372036854771712\n", memory__usage_in_bytes="10\n"
    )
    assert cgroup.read_free_bytes(cgroup.Group(folder, 1)) == 3000 - (2900 - 800)


def test_no_limit_is_none(tmp_path: Path) -> None:
    folder = files(tmp_path / "job", memory__stat="hierarchical_memory_limit 9223372036854771712\n", memory__usage_in_bytes="5\n")
    assert cgroup.read(cgroup.Group(folder, 1)) == (5, None, None)


def test_a_log_that_may_not_be_read_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oom_kills, "KERNEL_LOG", "/nowhere/kmsg")
    assert oom_kills.KernelLog().read() == []
