"""The kernel's numbers of the threads that py-spy names by their pthread handle only.

Before Python 3.11 the interpreter does not keep the kernel's number of a thread, and py-spy learns it only by stopping the
process, as it does for native stacks. Then one thread would have two numbers, and what it did in one sample could be compared
neither with the next sample nor with what the kernel says of it. But the handle is the address of the C library's description
of the thread, and the number stands in it, at an offset that differs between libraries and is the same for all threads: it is
the first at which each thread has a number of its own among those of the process. Reading it stops nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from pathlib import Path

DESCRIPTION_BYTES = 1536  # of a thread; glibc keeps the number at 720 on x86-64 and at 208 on ARM, musl before 64
_NUMBER = struct.Struct("=i")


def kernel_ids(pid: int, handles: Collection[int]) -> dict[int, int]:
    """The kernel's number of each thread by its handle; empty where it cannot be known of all of them."""
    tasks = kernel_tasks(pid)
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


def kernel_tasks(pid: int) -> Mapping[int, int]:
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
