"""Since when the threads of a process have been idle, remembered from one `unstall attach` to the next.

The kernel says when a thread last ran. A look at the native stacks stops the process and thereby sets that clock back, though
no thread has done anything. So each attach keeps what it has seen in a small file beside the runs, and the next one believes it
of every thread that has used no CPU since and stands at the same line.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from unstall.base.errors import UnstallError
from unstall.base.files import write_whole
from unstall.base.redact.text import redact_json
from unstall.diagnosis.stalls import IDLE_CORES
from unstall.diagnosis.thread_waits import IDLE_CPU_MS, POLL_CPU_MS, find, measure_standing_s
from unstall.journal import run_folder
from unstall.journal.events import IdleSeen, StackSampled, ThreadsSeen
from unstall.journal.stack_frames import get_position

FILE = "attached.json"
MAX_PROCESSES = 16  # the newest are kept


def recall(pid: int, kernel: Sequence[ThreadsSeen], sample: StackSampled | None) -> list[ThreadsSeen]:
    """What an earlier attach saw of the threads that have been idle since, up to the newest look: one event, or none."""
    stored = _read().get(_key(pid))
    latest_look = next((look for look in reversed(kernel) if look.pid == pid), None)
    if not isinstance(stored, dict) or latest_look is None:
        return []
    lines = _lines(sample)
    rows = [
        _still_idle(row, latest_look, stored.get("lines"), lines) for row in stored.get("threads") or [] if isinstance(row, dict)
    ]
    idle = [row for row in rows if row is not None]
    return [ThreadsSeen(at=float(stored["at"]), pid=pid, threads=idle)] if idle else []


def recall_idleness(pid: int, kernel: Sequence[ThreadsSeen], sample: StackSampled | None) -> tuple[float, float] | None:
    """Since when the program has been idle as a whole, by an earlier attach, and the CPU seconds that it had used by then: of one
    that has used next to none since and whose main thread stands at the same line, where it has done no more than wake. None if
    nothing is known."""
    stored = _read().get(_key(pid))
    idle = stored.get("idle") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or not isinstance(idle, dict) or sample is None:
        return None
    is_there = any(row["id"] == pid for event in recall(pid, kernel, sample) for row in event.threads)
    used, passed = read_cpu_seconds(pid) - float(idle["cpu_s"]), time.time() - float(idle["since"])
    return (float(idle["since"]), float(idle["cpu_s"])) if is_there and 0 <= used <= IDLE_CORES * passed else None


def read_cpu_seconds(pid: int) -> float:
    """That a process has used, with the processes below it, those that have ended as well."""
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    total = 0.0
    for process in tree:
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def _still_idle(row: dict[str, Any], latest_look: ThreadsSeen, lines_then: Any, lines: dict[str, str]) -> dict[str, Any] | None:
    """The thread as it was then, with the CPU time that it has now; None if it has done something in between."""
    now, name = find(latest_look, row.get("id", 0)), str(row.get("id"))
    numbers = (row.get("cpu_ms"), row.get("runs"), now and now.get("cpu_ms"), now and now.get("runs"))
    if now is None or any(number is None for number in numbers):
        return None
    if not isinstance(lines_then, dict) or lines_then.get(name) != lines.get(name):
        return None
    worked, woke = now["cpu_ms"] - row["cpu_ms"], now["runs"] - row["runs"]
    polls = bool(now.get("timed") and row.get("timed")) and worked < POLL_CPU_MS * woke
    return {**row, "cpu_ms": now["cpu_ms"]} if worked >= 0 and (worked <= IDLE_CPU_MS or polls) else None


def remember(
    pid: int,
    kernel: Sequence[ThreadsSeen],
    last: ThreadsSeen | None,
    sample: StackSampled | None,
    idle: IdleSeen | None,
) -> None:
    """`kernel`: all looks up to now, those of an earlier attach before them; `last`: one after the process was stopped."""
    looks = [look for look in kernel if look.pid == pid]
    if last is None or not looks:
        return
    rows = []
    for thread in last.threads:
        stood = measure_standing_s([*looks, last], pid, thread["id"])
        if stood is None:
            continue
        if math.isinf(stood):  # it polls: for as long as it was looked at, at least
            stood = last.at - looks[0].at
        first = next((known for look in looks if (known := find(look, thread["id"])) is not None), thread)
        # The call as it was before the stop, which gives it another name.
        rows.append({**thread, "call": first.get("call"), "on": first.get("on"), "timed": first.get("timed"), "asleep_s": stood})
    entry = {"at": last.at, "threads": rows, "lines": _lines(sample)}
    if idle is not None:
        entry["idle"] = {"since": idle.since, "cpu_s": read_cpu_seconds(pid) - idle.cpu_s}
    stored = {key: value for key, value in _read().items() if key != _key(pid)}
    newest = dict(list(stored.items())[-(MAX_PROCESSES - 1) :])
    try:
        run_folder.make_home()
        write_whole(_path(), redact_json(json.dumps({**newest, _key(pid): entry})) + "\n")
    except (OSError, UnstallError):
        return  # the next attach begins anew, nothing more


def _lines(sample: StackSampled | None) -> dict[str, str]:
    """Where each thread that runs Python stands, as a short digest."""
    threads = sample.threads if sample is not None else []
    return {str(thread["id"]): hashlib.sha256(repr(get_position(thread)).encode()).hexdigest()[:16] for thread in threads}


def _key(pid: int) -> str:
    """The process itself, not another that has its number later: with its start, and that of the machine."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, IndexError):
        started, boot = str(time.time()), ""
    return f"{pid} {started} {boot}"


def _path() -> Path:
    return run_folder.get_home() / FILE


def _read() -> dict[str, Any]:
    try:
        known = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, UnstallError):
        return {}
    return known if isinstance(known, dict) else {}
