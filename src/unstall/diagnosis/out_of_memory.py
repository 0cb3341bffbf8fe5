"""Want of memory, as the program's own errors and the kernel tell it: whose memory, how much was asked for, at which line.

Told by the kind of the error and its words together: a program that merely prints or quotes such words has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstall.diagnosis.error_messages import innermost
from unstall.diagnosis.fatal_error import first_line
from unstall.diagnosis.host_memory import parse_size, room
from unstall.journal.events import DevicesListed, ErrorRaised, HostSampled, KernelSpoke, KillsCounted, ProcessEnded, RunStarted
from unstall.journal.reader import Journal

SIGKILL = 9
FULL_SHARE = 0.7  # of the memory, as last seen: a second later it may be full
SHELL_KILLED = 128 + SIGKILL  # what a shell returns for a program that was killed

_FRAMEWORKS = ("tensorflow.", "torch.", "jax.", "jaxlib.", "cupy.", "keras.", "tf_keras.")
_PLAIN_KINDS = ("RuntimeError", "OSError", "SystemError")
_NO_FAILURE = "this is not a failure"
_DEVICE = re.compile(
    r"(CUDA|HIP|XPU|MPS)[^\n]{0,40}out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|_STATUS_ALLOC_FAILED",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"DefaultCPUAllocator: (can't|not enough)|not enough memory: you tried to allocate|std::bad_alloc|Cannot allocate memory"
    r"|\bMemoryError: ",
)
_ON_DEVICE = re.compile(r"device:(GPU|CPU):\d+|allocator (GPU|\w*cpu)", re.IGNORECASE)
_EXHAUSTED = re.compile(
    r"OOM when allocating|RESOURCE_EXHAUSTED[^\n]*(memory|allocat)|ResourceExhaustedError[^\n]*(memory|allocat)"
    r"|out of memory (while trying to allocate|allocating)|ran out of memory trying to allocate",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:tried to allocate|to allocate|allocating|allocate)\s+(\d[\d,.]*\s*(?:[KMGT]i?B|bytes))", re.IGNORECASE)
_SHAPE = re.compile(r"tensor with shape\s*\[([\d,]*)\] and type (\w+)")
_WIDTHS = {"half": 2, "bfloat16": 2, "double": 8, "int8": 1, "uint8": 1, "int16": 2, "int64": 8, "bool": 1}  # others: 4
_WORKER_DIED = re.compile(
    r"DataLoader worker \(pid.{0,80}?\) (exited unexpectedly|is killed by signal)"
    r"|A (child )?process (in the process pool )?(was )?terminated abruptly|BrokenProcessPool|TerminatedWorkerError",
)


@dataclass(frozen=True)
class Shortage:
    """An error that says: no memory. `text` is its first telling line."""

    of_device: bool
    error: ErrorRaised
    text: str
    asked_bytes: int | None


@dataclass(frozen=True)
class MemoryKill:
    """A kill for want of memory, of the program itself (`is_main`) or of one of its workers."""

    is_main: bool
    counted: KillsCounted | None
    spoke: KernelSpoke | None
    ended: ProcessEnded | None
    certain: bool


def shortage(journal: Journal) -> Shortage | None:
    """The error for want of memory that ended the program, or one of its threads while the program does not go on."""
    for error in reversed(journal.of(ErrorRaised)):
        if error.fatal or (error.thread not in ("", "MainThread") and _ended_badly(journal)):
            found = _read(journal, error)
            if found is not None:
                return found
    return None


def _ended_badly(journal: Journal) -> bool:
    ended = journal.last(ProcessEnded)
    return ended is not None and bool(ended.exit_code or ended.signal)


def _read(journal: Journal, error: ErrorRaised) -> Shortage | None:
    for told in (f"{error.kind}: {error.message}", *error.chain):
        of_device = _whose(journal, told)
        if of_device is not None:
            return Shortage(of_device, error, _telling_line(told), asked_bytes(told))
    return None


def _whose(journal: Journal, told: str) -> bool | None:
    """True: the device's memory, False: the host's, None: no want of memory."""
    kind, _, message = told.partition(": ")
    if _NO_FAILURE in message:
        return None
    name = kind.rsplit(".", 1)[-1]
    if name.endswith("MemoryError") and "OutOfMemory" not in name:
        return False
    from_framework = kind.startswith(_FRAMEWORKS) or name == "XlaRuntimeError"
    if not from_framework and name not in _PLAIN_KINDS:
        return None
    if "OutOfMemory" in name or _DEVICE.search(message):
        return True
    if _HOST.search(message):
        return False
    if from_framework and _EXHAUSTED.search(told):
        named = _ON_DEVICE.search(message)
        return "gpu" in named.group(0).lower() if named else _computes_on_device(journal)
    return None


def _says_memory(message: str) -> bool:
    return re.search(r"memory|OOM|alloc", message, re.IGNORECASE) is not None


def _computes_on_device(journal: Journal) -> bool:
    return any("gpu" in device or "cuda" in device for event in journal.of(DevicesListed) for device in event.devices)


def _telling_line(told: str) -> str:
    """The line that speaks of memory by itself: the kind of the error may say so above a line that does not."""
    first, *others = [line.strip() for line in told.splitlines() if line.strip()] or [told]
    if _says_memory(first.partition(": ")[2]):
        return first_line(first)
    other = next((line for line in others if _says_memory(line)), None)
    return innermost("", other).message if other is not None else first_line(first)


def asked_bytes(text: str) -> int | None:
    """How much was asked for, from the words of the error: a size, or the shape and type of a tensor."""
    found = _ASKED.search(text)
    if found is not None:
        return parse_size(found.group(1))
    shape = _SHAPE.search(text)
    if shape is None:
        found_any = re.search(r"[Uu]nable to allocate (\d[\d,.]*\s*[KMGT]?i?B)", text)
        return parse_size(found_any.group(1)) if found_any else None
    count = 1
    for side in shape.group(1).split(","):
        count *= int(side or 1)
    return count * _WIDTHS.get(shape.group(2), 4)


def worker_died(error: ErrorRaised) -> bool:
    """Whether an error only says that a worker process is gone."""
    return any(_WORKER_DIED.search(told) for told in (f"{error.kind}: {error.message}", *error.chain))


def memory_kill(journal: Journal) -> MemoryKill | None:
    """What the kernel's counters and log show of a kill in this run; None if they show none."""
    counted = _counted(journal)
    ended = journal.last(ProcessEnded)
    main_pid = ended.pid if ended is not None else _main_pid(journal)
    spoken = journal.of(KernelSpoke)
    of_main = next((line for line in spoken if line.pid == main_pid), None)
    was_killed = ended is not None and (ended.signal == SIGKILL or ended.exit_code == SHELL_KILLED) and not ended.stopped_by_us
    if of_main is not None:
        return MemoryKill(True, counted, of_main, ended, True)
    if was_killed and spoken:  # a shell started the program, and returned what became of it
        return MemoryKill(True, counted, spoken[-1], ended, True)
    if was_killed and counted is not None and (counted.in_group or _was_full(journal)):
        return MemoryKill(True, counted, None, ended, bool(counted.in_group))
    if spoken:
        return MemoryKill(False, counted, spoken[-1], ended, counted is not None or not spoken[-1].by_group)
    if counted is not None and counted.in_group:
        return MemoryKill(False, counted, None, ended, False)
    return None


def _counted(journal: Journal) -> KillsCounted | None:
    """The last count, if it is above nought. A group counts each kill in it, whatever for: the machine's count, which is
    about anybody, is asked only where the group has none."""
    last = journal.last(KillsCounted)
    if last is None:
        return None
    return last if (last.on_machine if last.in_group is None else last.in_group) else None


def _was_full(journal: Journal) -> bool:
    host = journal.last(HostSampled)
    left = room(host) if host is not None else None
    return left is not None and left.share >= FULL_SHARE


def _main_pid(journal: Journal) -> int:
    started = journal.last(RunStarted)
    return started.pid if started is not None else 0
