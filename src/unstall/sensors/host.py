"""CPU, memory, reads and writes of a process tree, and what the machine and its control group have left."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from unstall.diagnosis.thread_waits import POLL_CPU_MS
from unstall.journal.events import HostSampled
from unstall.sensors import cgroup

TaskCounts = tuple[int, int, int]  # of a thread: ns on a CPU, ns ready without one, how often it was put on one

PROCESSES_LOOKED_INTO = 8  # for what their threads wait for
STOPPED = ("T", "t")  # states of a process: by a signal, by a debugger
CHILDREN_EVERY_S = 3.0  # finding the children walks through all processes


@dataclass
class _Totals:
    cpu_s: float = 0.0
    read: int = 0
    disk_read: int = 0
    write: int = 0
    faults: int = 0


class HostSampler:
    """Gives rates, so it remembers the sample before."""

    def __init__(self, pid: int, is_finely: bool = False) -> None:
        """`is_finely`: its memory is looked at many times between two samples."""
        self.pid = pid
        self._before: dict[int, _Totals] = {}
        self._swap_before = (0, 0)
        self._tasks_before: dict[int, TaskCounts] = {}
        self._at = 0.0
        self._looks = self._looks_stopped = 0
        self._children: list[int] = []
        self._children_at = 0.0
        self._cgroup = cgroup.find(pid)
        self._usable_cores = _usable_cores(pid)
        self.seen: set[int] = {pid}  # every process of the tree that was ever seen
        self._memory_looks = MemoryLooks(pid, lambda: self._children) if is_finely else None

    def update_totals(self) -> None:
        """Whether it is stopped just now. The kernel does not count for how long: so it is looked at often."""
        self._looks += 1
        self._looks_stopped += _state(self.pid) in STOPPED

    def sample(self) -> HostSampled | None:
        """None when the process is gone."""
        now = time.monotonic()
        self.update_totals()
        if not psutil.pid_exists(self.pid):
            return None
        interval = now - self._at if self._at else 0.0
        totals = {pid: found for pid in self.tree(now) if (found := _totals(pid)) is not None}
        if self.pid not in totals:
            return None
        rates = self._rates(totals, interval)
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        swapped = (swap.sin, swap.sout)
        self._cgroup = cgroup.find(self.pid) or self._cgroup  # a program may be moved, or move itself
        used, limit, kills = cgroup.read(self._cgroup)
        memories = [_memory(pid) for pid in totals]
        looks = [_threads(pid) for pid in list(totals)[:PROCESSES_LOOKED_INTO]]
        tasks = {task: counts for look in looks for task, counts in look.tasks.items()}
        event = HostSampled(
            at=time.time(),
            interval_s=interval,
            cpu_cores=rates.cpu_s,
            main_cpu_cores=self._main_cpu(totals, interval),
            rss_bytes=sum(memory_.rss for memory_ in memories),
            main_rss_bytes=memories[0].rss,
            threads=looks[0].count,
            processes=len(totals),
            read_bytes_s=rates.read,
            disk_read_bytes_s=rates.disk_read,
            write_bytes_s=rates.write,
            major_faults_s=rates.faults,
            available_bytes=memory.available,
            total_bytes=memory.total,
            cgroup_used_bytes=used,
            cgroup_limit_bytes=limit,
            cgroup_oom_kills=kills,
            swap_used_bytes=swap.used,
            swap_in_bytes_s=max(0, swapped[0] - self._swap_before[0]) / interval if interval else 0.0,
            swap_out_bytes_s=max(0, swapped[1] - self._swap_before[1]) / interval if interval else 0.0,
            io_wait_threads=sum(look.waiting for look in looks),
            queued_cores=_queued(self._tasks_before, tasks, interval),
            usable_cores=self._usable_cores,
            stopped_share=self._looks_stopped / self._looks,
            anon_bytes=sum(memory_.anon for memory_ in memories),
            swapped_bytes=sum(_swapped(pid) for pid in totals) if swap.used else 0,
            address_space_bytes=memories[0].address_space,
            address_space_limit_bytes=_address_space_limit(self.pid),
            max_rss_bytes=self._memory_looks.most() if self._memory_looks is not None else [],
        )
        self._before, self._at, self._swap_before, self._tasks_before = totals, now, swapped, tasks
        self._looks = self._looks_stopped = 0
        return event

    def tree(self, now: float | None = None) -> list[int]:
        """The process and its descendants."""
        now = time.monotonic() if now is None else now
        if now - self._children_at >= CHILDREN_EVERY_S:
            self._children_at = now
            try:
                self._children = [child.pid for child in psutil.Process(self.pid).children(recursive=True)]
            except psutil.Error:
                self._children = []
            self.seen.update(self._children)
        return [self.pid, *self._children]

    def _rates(self, totals: dict[int, _Totals], interval: float) -> _Totals:
        if not interval:
            return _Totals()
        result = _Totals()
        for pid, total in totals.items():
            before = self._before.get(pid, _Totals() if self._before else total)
            result.cpu_s += max(0.0, total.cpu_s - before.cpu_s) / interval
            result.read += int(max(0, total.read - before.read) / interval)
            result.disk_read += int(max(0, total.disk_read - before.disk_read) / interval)
            result.write += int(max(0, total.write - before.write) / interval)
            result.faults += int(max(0, total.faults - before.faults) / interval)
        return result

    def _main_cpu(self, totals: dict[int, _Totals], interval: float) -> float:
        before = self._before.get(self.pid)
        if not interval or before is None:
            return 0.0
        return max(0.0, totals[self.pid].cpu_s - before.cpu_s) / interval


_TICKS = 100.0  # USER_HZ, fixed at 100 for what /proc shows on every architecture that Linux runs Python on
_PAGE = resource.getpagesize()


def _totals(pid: int) -> _Totals | None:
    """Straight from /proc: psutil asks for more than is needed here, once a second."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        totals = _Totals(cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS, faults=int(fields[9]))
        if fields[0] == "Z":
            return None
    except (OSError, ValueError, IndexError):
        return None
    try:
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "rchar":
                totals.read = int(value)
            elif key == "read_bytes":
                totals.disk_read = int(value)
            elif key == "wchar":
                totals.write = int(value)
    except (OSError, ValueError):
        pass  # another user's process hides this
    return totals


def _usable_cores(pid: int) -> float:
    """0 where it is not known."""
    try:
        allowed = float(len(os.sched_getaffinity(pid)))
    except OSError:
        return 0.0
    quota = cgroup.read_cores(pid)
    return allowed if quota is None else min(allowed, quota)


def _state(pid: int) -> str:
    """As the kernel calls it; empty: it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat[stat.rindex(")") + 2]
    except (OSError, ValueError, IndexError):
        return ""


@dataclass(frozen=True)
class _Memory:
    rss: int = 0
    anon: int = 0
    address_space: int = 0


def _memory(pid: int) -> _Memory:
    try:
        size, resident, shared = (int(number) * _PAGE for number in Path(f"/proc/{pid}/statm").read_text().split()[:3])
        return _Memory(resident, max(0, resident - shared), size)
    except (OSError, ValueError):
        return _Memory()


def _swapped(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmSwap:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _address_space_limit(pid: int) -> int | None:
    """What `ulimit -v` allows the process; None if there is no limit, or it may not be asked."""
    try:
        soft, _ = resource.prlimit(pid, resource.RLIMIT_AS)
    except (OSError, ValueError):
        return None
    return soft if soft != resource.RLIM_INFINITY else None


@dataclass
class _Threads:
    count: int = 0
    waiting: int = 0  # in uninterruptible sleep: for a disk
    tasks: dict[int, tuple[int, int, int]] = field(
        default_factory=dict
    )  # each: ns on a CPU, ns ready without one, turns on a CPU


def _queued(before: Mapping[int, TaskCounts], now: Mapping[int, TaskCounts], interval: float) -> float:
    """How many threads, on average, were ready to run and had no CPU. One that only wakes now and then, to look and to sleep
    again, wants none: on a crowded machine it waits long for its turn, and then does next to nothing."""
    grown = 0
    for task, (ran, queued, turns) in now.items():
        ran_before, queued_before, turns_before = before.get(task, (ran, queued, turns))
        if turns > turns_before and (ran - ran_before) / (turns - turns_before) >= POLL_CPU_MS * 1e6:
            grown += max(0, queued - queued_before)
    return grown / 1e9 / interval if interval else 0.0


def _threads(pid: int) -> _Threads:
    seen = _Threads()
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            seen.count += 1
            stat = (task / "stat").read_text()
            seen.waiting += stat[stat.rindex(")") + 2] == "D"
            ran, queued, turns = map(int, (task / "schedstat").read_text().split()[:3])
            seen.tasks[int(task.name)] = (ran, queued, turns)
    except (OSError, ValueError, IndexError):
        pass  # it ended meanwhile, or the kernel does not tell
    return seen


# The memory of a process tree, looked at many times a second: a step holds the most for a moment only.
#
# What a run holds in one step after the other is steadier than its one highest moment, in which by chance two things lay in
# memory at once. A thread of the watcher looks; what it costs is bounded by itself.


EVERY_S = 0.02
COST_SHARE = 0.005  # of a core, at the most: what takes long is done more seldom
MAX_LOOKS = 2000
WINDOWS = 4  # that the time since the last question is divided into
PROCESSES = 16


class MemoryLooks:
    """`most()` gives the most that was held in each part of the time since it was asked before."""

    def __init__(self, pid: int, tree: Callable[[], Sequence[int]]) -> None:
        """`tree`: the process and its descendants, as they are known."""
        self._pid = pid
        self._tree = tree
        self._looks: list[int] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="memory looks", daemon=True)
        self._thread.start()

    @property
    def is_looking(self) -> bool:
        return self._thread.is_alive()

    def most(self) -> list[int]:
        with self._lock:
            looks, self._looks = self._looks, []
        size = max(1, -(-len(looks) // WINDOWS))
        return [max(looks[start : start + size]) for start in range(0, len(looks), size)]

    def _look(self) -> None:
        """Until the process is gone."""
        while True:
            began = time.thread_time()
            own = read_resident_bytes(self._pid)
            if not own:
                return
            held = own + sum(read_resident_bytes(pid) for pid in self._tree()[:PROCESSES] if pid != self._pid)
            with self._lock:
                self._looks.append(held)
                if len(self._looks) > MAX_LOOKS:
                    del self._looks[: MAX_LOOKS // 2]
            time.sleep(max(EVERY_S, (time.thread_time() - began) / COST_SHARE))


def read_resident_bytes(pid: int) -> int:
    """0 of a process that is gone, or has ended and was not waited for yet."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
