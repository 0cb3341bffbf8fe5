"""Who was killed for want of memory, from the kernel's own counters and its log.

The word "Killed" alone says nothing. The control group and the machine count such kills, and the kernel's log, where it
may be read, names the process and what it held.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Container
from pathlib import Path

from unstall.journal.events import Event, KernelSpoke, KillsCounted
from unstall.sensors import cgroup

KERNEL_LOG = "/dev/kmsg"
VMSTAT = Path("/proc/vmstat")
LONGEST_RECORD = 8192
KILLED = re.compile(r"Killed process (\d+) ")
OF_GROUP = re.compile(r"oom-kill:.*task_memcg=([^,]*),task=.*,pid=(\d+)")


class KernelLog:
    """What the kernel has said since this was made. Readable for root, and for all where dmesg is not restricted."""

    def __init__(self, from_the_beginning: bool = False) -> None:
        self._file: int | None = None
        try:
            self._file = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if not from_the_beginning:
                os.lseek(self._file, 0, os.SEEK_END)
        except OSError:
            self._file = None

    def read(self, since_boot_s: float = 0.0) -> list[str]:
        """The messages since the last call, and not before that many seconds after the machine was started."""
        messages: list[str] = []
        while self._file is not None:
            try:
                record = os.read(self._file, LONGEST_RECORD)
            except BrokenPipeError:
                continue  # records were overwritten before they were read; the next call gives the oldest kept
            except BlockingIOError:
                break
            except OSError:
                self._file = None
                break
            head, _, text = record.decode("utf-8", "replace").partition(";")
            if text and _record_s(head) >= since_boot_s:
                messages.append(text.splitlines()[0])
        return messages


def _record_s(head: str) -> float:
    """The time of a record, in seconds since the machine was started: `priority,number,microseconds,flags`."""
    try:
        return int(head.split(",")[2]) / 1e6
    except (ValueError, IndexError):
        return 0.0


class KillCounter:
    """Kills since this was made. `look` gives events only when something has changed."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._log = KernelLog()
        self._machine_before = read_machine_kills()
        self._before: dict[cgroup.Group, int | None] = {}
        self._group: cgroup.Group | None = None
        self._reported: tuple[int | None, int | None] = (0, 0)
        self._find_group()

    def _find_group(self) -> None:
        """A program may move itself into a group of its own after it has started; a dead one is in none."""
        found = cgroup.find(self._pid)
        if found is not None:
            self._group = found
            self._before.setdefault(found, cgroup.read_kills(found))

    def look(self, pids: Container[int], final: bool = False) -> list[Event]:
        """`pids` are the processes that are, or were, the program's."""
        self._find_group()
        counted = (self._in_group(), _since(self._machine_before, read_machine_kills()))
        if counted == self._reported and not final:
            return []
        changed, self._reported = counted != self._reported, counted
        group = self._group
        events: list[Event] = [
            KillsCounted(
                at=time.time(),
                group="" if group is None else str(group.folder),
                in_group=counted[0],
                on_machine=counted[1],
                limit_bytes=None if group is None else cgroup.read_limit(group),
                peak_bytes=None if group is None else cgroup.read_peak(group),
                final=final,
            )
        ]
        return events + self._kernel_lines(pids) if changed or final else events

    def _in_group(self) -> int | None:
        if self._group is None:
            return None
        return _since(self._before.get(self._group), cgroup.read_kills(self._group))

    def _kernel_lines(self, pids: Container[int]) -> list[Event]:
        return [*_about(self._log.read(), pids, self._group)]


def read_history(pid: int, pids: Container[int]) -> list[KernelSpoke]:
    """The kills that the log tells of since the program was started: for a program that nobody watched."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        started_s = int(stat[stat.rindex(")") + 2 :].split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return []
    return _about(KernelLog(from_the_beginning=True).read(started_s), pids, cgroup.find(pid))


def _about(lines: list[str], pids: Container[int], group: cgroup.Group | None) -> list[KernelSpoke]:
    """The lines about kills of the program's own processes, or in its own group."""
    of_group: set[int] = set()
    events: list[KernelSpoke] = []
    for line in lines:
        grouped = OF_GROUP.search(line)
        if grouped and group is not None and _is_path_of(group, grouped.group(1)):
            of_group.add(int(grouped.group(2)))
        killed = KILLED.search(line)
        pid = int(killed.group(1)) if killed else 0
        if pid and (pid in pids or pid in of_group):
            events.append(KernelSpoke(at=time.time(), line=line, pid=pid, by_group=pid not in pids))
    return events


def _is_path_of(group: cgroup.Group, path: str) -> bool:
    return path not in ("", "/") and str(group.folder).endswith(path)


def _since(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else max(0, now - before)


def read_machine_kills() -> int | None:
    """How often the kernel has killed for want of memory since the machine was started."""
    try:
        for line in VMSTAT.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None
