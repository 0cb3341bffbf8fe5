"""What the kernel says of a process's threads: since when each has slept, in which system call, and on what.

Read from /proc, without stopping anything. That a thread has not run for a minute is known at once, also of a process that
was not watched before; and a read that does not return names the very socket or file.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from unstall.journal.events import ChildSeen, ThreadsSeen

MAX_THREADS = 300

# Numbers of the system calls that a thread can wait in, by machine.
_CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        0: "read", 1: "write", 2: "open", 7: "poll", 17: "pread64", 19: "readv", 23: "select", 34: "pause", 35: "nanosleep",
        42: "connect", 43: "accept", 45: "recvfrom", 47: "recvmsg", 44: "sendto", 46: "sendmsg", 61: "wait4", 72: "fcntl",
        73: "flock", 74: "fsync", 128: "rt_sigtimedwait", 202: "futex", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid",
        257: "openat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4", 4: "stat", 262: "newfstatat",
    },
    "aarch64": {
        63: "read", 64: "write", 67: "pread64", 65: "readv", 25: "fcntl", 32: "flock", 82: "fsync", 56: "openat", 72: "pselect6",
        73: "ppoll", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 137: "rt_sigtimedwait", 202: "accept",
        203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 22: "epoll_pwait", 242: "accept4",
        260: "wait4", 79: "newfstatat",
    },
}  # fmt: skip
# Where a call says how long it waits at most: the argument, and the value that means for ever.
_FOR_EVER: dict[str, tuple[int, int]] = {
    "poll": (2, 0xFFFFFFFF), "epoll_wait": (3, 0xFFFFFFFF), "epoll_pwait": (3, 0xFFFFFFFF), "ppoll": (2, 0), "select": (4, 0),
    "pselect6": (4, 0), "futex": (3, 0), "rt_sigtimedwait": (2, 0), "nanosleep": (0, -1), "clock_nanosleep": (0, -1),
}  # fmt: skip
# Calls whose first argument is the descriptor that they wait for.
_ON_DESCRIPTOR = frozenset(
    {"read", "write", "pread64", "readv", "recvfrom", "recvmsg", "sendto", "sendmsg"}
    | {"accept", "accept4", "connect", "flock", "fcntl", "fsync"}
)
# Calls that name a file, and the argument that does; one before it is the folder that the name is relative to.
_ON_PATH = {"open": 0, "stat": 0, "openat": 1, "newfstatat": 1}
AT_FDCWD = 0xFFFFFF9C
MAX_PATH_BYTES = 4096


def sample(pid: int, main: bool = True, only: Collection[int] = ()) -> ThreadsSeen | None:
    """All threads, or only some. None when the process is gone."""
    now_ms = _scheduler_now_ms()
    calls = _CALLS.get(platform.machine(), {})
    try:
        tasks = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return None
    tasks = [task for task in tasks if not only or task in only]
    threads = [seen for task in tasks[:MAX_THREADS] if (seen := _thread(pid, task, now_ms, calls)) is not None]
    return ThreadsSeen(at=time.time(), pid=pid, main=main, threads=threads)


def _thread(pid: int, task: int, now_ms: float | None, calls: dict[int, str]) -> dict[str, Any] | None:
    folder = Path(f"/proc/{pid}/task/{task}")
    try:
        name = (folder / "comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return None
    last_ms, cpu_ms, runs = _scheduling(folder)
    asleep = compute_asleep_s(now_ms, last_ms)
    call, arguments = _system_call(folder, calls)
    on = _target(pid, arguments[0]) if call in _ON_DESCRIPTOR and arguments else _path(pid, call, arguments)
    return {
        "id": task,
        "name": name,
        "asleep_s": asleep,
        "runs": runs,
        "cpu_ms": cpu_ms,
        "queued_ms": _queued_ms(folder),
        "call": call,
        "on": on,
        "timed": _is_timed(call, arguments),
    }


def compute_asleep_s(now_ms: float | None, last_ms: float | None) -> float | None:
    """Since a thread last ran. The kernel forgets when that was as it moves a thread that was woken to another core."""
    if now_ms is None or last_ms is None:
        return None
    return max(0.0, (now_ms - last_ms) / 1000) if last_ms > 0 else 0.0


def _scheduling(folder: Path) -> tuple[float | None, float | None, int | None]:
    """(when it last ran in the scheduler's milliseconds, CPU milliseconds, how often it was put on a CPU); None: not told."""
    found: dict[str, float] = {}
    try:
        for line in (folder / "sched").read_text(errors="replace").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                key = key.strip()
                if key in ("se.exec_start", "se.sum_exec_runtime", "nr_switches"):
                    found[key] = float(value)
    except (OSError, ValueError):
        return None, None, None
    runs = found.get("nr_switches")
    return found.get("se.exec_start"), found.get("se.sum_exec_runtime"), None if runs is None else int(runs)


def _queued_ms(folder: Path) -> float | None:
    """How long it was ready to run, up to now, and waited for a CPU."""
    try:
        return int((folder / "schedstat").read_text().split()[1]) / 1e6
    except (OSError, ValueError, IndexError):
        return None


def _scheduler_now_ms() -> float | None:
    """The scheduler's clock, as our own thread, which runs right now, was stamped with it."""
    last_ms, _, _ = _scheduling(Path("/proc/thread-self"))
    return last_ms


def _system_call(folder: Path, calls: dict[int, str]) -> tuple[str | None, list[int]]:
    """(name, arguments). ('running', []) for a thread that is in none; (None, []) where it may not be read."""
    try:
        fields = (folder / "syscall").read_text().split()
        if not fields or fields[0] == "running":
            return "running", []
        number = int(fields[0])
        if number < 0:
            return None, []  # it does not run, and is in no call: stopped, or kept waiting by a page of its memory
        return calls.get(number, f"system call {number}"), [int(field, 16) for field in fields[1:7]]
    except (OSError, ValueError):
        return None, []


def _is_timed(call: str | None, arguments: list[int]) -> bool | None:
    """Whether the call ends by itself after a while. Only what the known calls say in their arguments."""
    if call is None or not arguments:
        return None
    index, for_ever = _FOR_EVER.get(call, (0, arguments[0]))
    value = arguments[index] & 0xFFFFFFFF if for_ever == 0xFFFFFFFF else arguments[index]
    return value != for_ever


def _target(pid: int, descriptor: int) -> str | None:
    """What a descriptor leads to: a path, 'a pipe', or the other end of a socket."""
    try:
        link = str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())
    except OSError:
        return None
    if link.startswith("socket:["):
        return _socket(pid, link[len("socket:[") : -1])
    return "a pipe" if link.startswith("pipe:") else link


def _path(pid: int, call: str | None, arguments: list[int]) -> str | None:
    """The path that a call is to open or to look at: it stands in the memory of the process, as far as that may be read."""
    if call not in _ON_PATH or not arguments:
        return None
    index = _ON_PATH[call]
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            memory.seek(arguments[index])
            name = memory.read(MAX_PATH_BYTES).split(b"\0")[0].decode("utf-8")
        if not name or not name.isprintable():
            return None
        descriptor = arguments[0] & 0xFFFFFFFF if index else AT_FDCWD
        base = Path(f"/proc/{pid}/cwd" if descriptor == AT_FDCWD else f"/proc/{pid}/fd/{descriptor}")
        return name if name.startswith("/") else str(base.readlink() / name)
    except (OSError, ValueError, OverflowError):
        return None


def _socket(pid: int, inode: str) -> str:
    """'a connection to ADDRESS:PORT', from the process's own network tables."""
    for table in ("tcp", "tcp6"):
        for local, remote, _, number in list_rows(pid, table):
            if number == inode:
                return f"a connection to {remote}" if not remote.endswith(":0") else f"a connection at {local}"
    return "a socket"


def list_rows(pid: int, table: str) -> list[tuple[str, str, str, str]]:
    """(local, remote, state, inode) of every connection in a network table of the process's name space."""
    try:
        lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    except OSError:
        return []
    result = []
    for line in lines:
        fields = line.split()
        if len(fields) > 9:
            result.append((_address(fields[1]), _address(fields[2]), fields[3], fields[9]))
    return result


def _address(text: str) -> str:
    """0100007F:1F90 -> 127.0.0.1:8080. IPv6 in brackets; an IPv4 address in IPv6 clothes as IPv4."""
    import ipaddress

    host, _, port = text.partition(":")
    words = b"".join(bytes.fromhex(host[start : start + 8])[::-1] for start in range(0, len(host), 8))
    address = ipaddress.ip_address(words)
    if isinstance(address, ipaddress.IPv6Address):
        plain = address.ipv4_mapped
        return f"{plain}:{int(port, 16)}" if plain else f"[{address}]:{int(port, 16)}"
    return f"{address}:{int(port, 16)}"


# The processes below the program: which of them were forked, and so go on from a copy of its memory.


_START_CODE, _START_STACK = 26 - 3, 28 - 3  # fields of /proc/PID/stat, counted from the one after the name
LONGEST_COMMAND = 20


def sample_children(pids: Iterable[int]) -> list[ChildSeen]:
    return [seen for pid in pids if (seen := look(pid)) is not None]


def look(pid: int) -> ChildSeen | None:
    """None when it is gone."""
    fields = _stat(pid)
    if fields is None:
        return None
    parent = int(fields[1])
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:LONGEST_COMMAND]
    except OSError:
        command = []
    return ChildSeen(
        at=time.time(), pid=pid, parent_pid=parent, forked=is_forked(pid, parent), command=[part for part in command if part]
    )


def is_forked(pid: int, parent: int) -> bool | None:
    """Whether the process runs in the memory layout of its parent. A program that was started anew has its own, by chance
    of address randomisation. None where the kernel does not tell."""
    own, others = _stat(pid), _stat(parent)
    if own is None or others is None or not _addresses_are_random():
        return None
    mine = (int(own[_START_CODE]), int(own[_START_STACK]))
    theirs = (int(others[_START_CODE]), int(others[_START_STACK]))
    if min(*mine, *theirs) <= 1:
        return None  # hidden from us
    return mine == theirs


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        fields = text[text.rindex(")") + 2 :].split()
    except (OSError, ValueError):
        return None
    return fields if len(fields) > _START_STACK else None


def _addresses_are_random() -> bool:
    try:
        return Path("/proc/sys/kernel/randomize_va_space").read_text().strip() != "0"
    except OSError:
        return False
