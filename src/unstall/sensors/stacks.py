"""Stacks of a running process, by py-spy: Python frames without stopping it (0.05 s), native ones once it stands still.

A native sample stops the process for the time of the unwinding, so it is only taken of a process that does not move.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from unstall.journal.events import Event, Frame, SampleFailed, StackSampled, ThreadStack

PYTHON_TIMEOUT_S = 5.0
NATIVE_TIMEOUT_S = 20.0
GONE = ": it is gone"  # a process that ended while it was looked at: nothing is hidden by that
MAX_FRAMES = 120
MAX_THREADS = 200
# Processes whose quick samples number threads by their handle, since nothing else could be had: native ones then do, too.
_BY_HANDLE: set[int] = set()


def find_py_spy() -> str | None:
    """py-spy of this environment, else of the PATH."""
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if beside.exists() else shutil.which("py-spy")


def sample(pid: int, native: bool = False, main: bool = True) -> Event:
    """The stacks of all threads that run Python, or why they could not be had."""
    tool = find_py_spy()
    if tool is None:
        return _failed(native, "py-spy is not installed", "pip install py-spy")
    command = [tool, "dump", "--pid", str(pid), "--json", "--native" if native else "--nonblocking"]
    began = time.monotonic()
    try:
        timeout = NATIVE_TIMEOUT_S if native else PYTHON_TIMEOUT_S
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return _failed(native, f"py-spy gave no answer in {timeout:.0f} s", "")
    except OSError as error:
        return _failed(native, f"py-spy could not be started: {error}", "")
    seconds = time.monotonic() - began
    if done.returncode != 0:
        return _explain(native, pid, done.stderr.decode("utf-8", "replace"))
    try:
        threads = _threads(pid, json.loads(done.stdout), native)
    except (ValueError, KeyError, TypeError) as error:
        return _failed(native, f"py-spy's answer could not be read: {error}", "")
    return StackSampled(at=time.time(), pid=pid, native=native, seconds=seconds, threads=threads, main=main)


def _is_ours(plain: dict[str, Any]) -> bool:
    """A thread of the probe: the program has nothing to do with it."""
    return str(plain.get("thread_name") or "").startswith("unstall-")


def _threads(pid: int, rows: list[dict[str, Any]], native: bool) -> list[ThreadStack]:
    """Each with the kernel's number of it, in every sample of a process; or with its handle in every one."""
    handles = [int(thread["thread_id"]) for thread in rows]
    numbers = [thread.get("os_thread_id") for thread in rows]
    if all(numbers) and not (native and pid in _BY_HANDLE):
        tasks = read_kernel_tasks(pid)
        ids = {handle: tasks.get(int(number or 0), int(number or 0)) for handle, number in zip(handles, numbers, strict=True)}
    else:
        ids = read_kernel_ids(pid, handles)
        (_BY_HANDLE.discard if ids else _BY_HANDLE.add)(pid)
    theirs = [thread for thread in rows if not _is_ours(thread)][:MAX_THREADS]
    return [_thread(pid, thread, ids.get(int(thread["thread_id"]))) for thread in theirs]


def _thread(pid: int, plain: dict[str, Any], number: int | None) -> ThreadStack:
    # py-spy guesses from the stack alone whether a thread runs that it has no number of.
    is_guessed = number is not None and not plain.get("os_thread_id")
    return {
        "id": number or int(plain["thread_id"]),
        "name": plain.get("thread_name") or "",
        "active": bool(plain.get("active")) and not (is_guessed and number is not None and is_asleep(pid, number)),
        "gil": bool(plain.get("owns_gil")),
        "frames": [_frame(frame) for frame in plain["frames"][:MAX_FRAMES]],
    }


def _frame(plain: dict[str, Any]) -> Frame:
    file, module = plain.get("filename") or "", plain.get("module") or ""
    # A native frame without symbols has no module either, only an address.
    is_python = not module and (file.endswith((".py", ".pyx", ".ipynb")) or file.startswith("<"))
    return {
        "function": plain.get("name") or "",
        "file": file,
        "line": int(plain.get("line") or 0),
        "module": "" if is_python else module or "?",
    }


def _failed(native: bool, missing: str, fix: str) -> SampleFailed:
    return SampleFailed(at=time.time(), signal="native_stacks" if native else "stacks", missing=missing, fix=fix)


def _explain(native: bool, pid: int, stderr: str) -> SampleFailed:
    """py-spy's refusal in words that say which permission is missing and how to give it."""
    said = [line.strip() for line in stderr.splitlines() if line.strip()]
    text = next((line for line in said if line.startswith("Error")), said[0] if said else "py-spy failed without a word")
    lowered = stderr.lower()
    if "permission" in lowered or "operation not permitted" in lowered or "eperm" in lowered:
        return _failed(native, f"the permission to read the memory of process {pid} (ptrace)", suggest_ptrace_fix())
    if "no such process" in lowered or _has_ended(pid):
        return _failed(native, f"process {pid}{GONE}", "")
    if "python" in lowered and ("version" in lowered or "interpreter" in lowered):
        return _failed(native, f"process {pid} runs no Python that py-spy can read: {text}", "")
    return _failed(native, f"py-spy: {text}", "")


def _has_ended(pid: int) -> bool:
    """Also while its parent has not yet taken note: then its program cannot be told any more."""
    try:
        Path(f"/proc/{pid}/exe").readlink()
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:
        return False
    return False


def suggest_ptrace_fix() -> str:
    """What gives the permission on this machine."""
    scope = "0"
    try:
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        pass
    if os.geteuid() != 0 and scope != "0":
        return "run it with sudo, or allow it once with: sudo sysctl kernel.yama.ptrace_scope=0"
    if os.geteuid() != 0:
        return "run it as the owner of the process, or with sudo"
    return "in a container, start it with --cap-add SYS_PTRACE (Kubernetes: securityContext.capabilities.add: [SYS_PTRACE])"


# The kernel's numbers of the threads that py-spy names by their pthread handle only.
#
# Before Python 3.11 the interpreter does not keep the kernel's number of a thread, and py-spy learns it only by stopping the
# process, as it does for native stacks. Then one thread would have two numbers, and what it did in one sample could be
# compared neither with the next sample nor with what the kernel says of it. But the handle is the address of the C library's
# description of the thread, and the number stands in it, at an offset that differs between libraries and is the same for all
# threads: it is the first at which each thread has a number of its own among those of the process. Reading it stops nothing.


DESCRIPTION_BYTES = 1536  # of a thread; glibc keeps the number at 720 on x86-64 and at 208 on ARM, musl before 64
_NUMBER = struct.Struct("=i")


def read_kernel_ids(pid: int, handles: Collection[int]) -> dict[int, int]:
    """The kernel's number of each thread by its handle; empty where it cannot be known of all of them."""
    tasks = read_kernel_tasks(pid)
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            descriptions = []
            for handle in handles:
                memory.seek(handle)
                descriptions.append(memory.read(DESCRIPTION_BYTES))
    except (OSError, OverflowError, ValueError):
        return {}
    if not descriptions or len(set(handles)) != len(descriptions):
        return {}
    length = min(map(len, descriptions))
    for offset in range(0, length - _NUMBER.size + 1, _NUMBER.size):
        numbers = [_NUMBER.unpack_from(description, offset)[0] for description in descriptions]
        if len(set(numbers)) == len(numbers) and all(number in tasks for number in numbers):
            return {handle: tasks[number] for handle, number in zip(handles, numbers, strict=True)}
    return {}


def read_kernel_tasks(pid: int) -> Mapping[int, int]:
    """The number of each thread as we see it, by the one that it has for itself: in a container that is another."""
    try:
        tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return {}
    if len(_numbers(pid, pid)) < 2:
        return {task: task for task in tasks}
    return {numbers[-1]: task for task in tasks if (numbers := _numbers(pid, task))}


def _numbers(pid: int, task: int) -> list[int]:
    """A thread's numbers from our own name space of processes inwards, its own last."""
    try:
        lines = Path(f"/proc/{pid}/task/{task}/status").read_text(errors="replace").splitlines()
    except OSError:
        return []
    return next(([int(word) for word in line.split()[1:]] for line in lines if line.startswith("NSpid:")), [])


def is_asleep(pid: int, task: int) -> bool:
    """Whether the kernel says so at this moment."""
    try:
        stat = Path(f"/proc/{pid}/task/{task}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in {"S", "D"}
