"""Want of memory, as the program's own errors and the kernel tell it: whose memory, how much was asked for, at which line.

Told by the kind of the error and its words together: a program that merely prints or quotes such words has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.errors.error_messages import find_innermost
from unstall.diagnosis.errors.fatal_error import get_first_line
from unstall.diagnosis.host_memory import measure_room, parse_size
from unstall.diagnosis.verdict import Unknown
from unstall.journal.events import (
    DeviceMemoryCounted,
    DeviceSampled,
    DevicesListed,
    ErrorRaised,
    Event,
    FrameworkLoaded,
    HostSampled,
    KernelSpoke,
    KillsCounted,
    ProcessEnded,
    RunStarted,
    SampleFailed,
)
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


def find_shortage(journal: Journal) -> Shortage | None:
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
    for result in (f"{error.kind}: {error.message}", *error.chain):
        of_device = _whose(journal, result)
        if of_device is not None:
            return Shortage(of_device, error, _best_line(result), parse_asked_bytes(result))
    return None


def _whose(journal: Journal, text: str) -> bool | None:
    """True: the device's memory, False: the host's, None: no want of memory."""
    kind, _, message = text.partition(": ")
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
    if from_framework and _EXHAUSTED.search(text):
        named = _ON_DEVICE.search(message)
        return "gpu" in named.group(0).lower() if named else _computes_on_device(journal)
    return None


def _says_memory(message: str) -> bool:
    return re.search(r"memory|OOM|alloc", message, re.IGNORECASE) is not None


def _computes_on_device(journal: Journal) -> bool:
    return any("gpu" in device or "cuda" in device for event in journal.of(DevicesListed) for device in event.devices)


def _best_line(text: str) -> str:
    """The line that speaks of memory by itself: the kind of the error may say so above a line that does not."""
    first, *others = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    if _says_memory(first.partition(": ")[2]):
        return get_first_line(first)
    other = next((line for line in others if _says_memory(line)), None)
    return find_innermost("", other).message if other is not None else get_first_line(first)


def parse_asked_bytes(text: str) -> int | None:
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


def find_worker_death(error: ErrorRaised) -> bool:
    """Whether an error only says that a worker process is gone."""
    return any(_WORKER_DIED.search(result) for result in (f"{error.kind}: {error.message}", *error.chain))


def find_memory_kill(journal: Journal) -> MemoryKill | None:
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
    left = measure_room(host) if host is not None else None
    return left is not None and left.share >= FULL_SHARE


def _main_pid(journal: Journal) -> int:
    started = journal.last(RunStarted)
    return started.pid if started is not None else 0


# What an error for want of device memory says in numbers, and what NVML and the allocator saw around it.


_SIZE = r"(\d[\d,.]*\s*[KMGT]i?B)"
_FREE = re.compile(rf"of which {_SIZE} is free")
_CAPACITY = re.compile(rf"total capacity of {_SIZE}")
_UNALLOCATED = re.compile(rf"and {_SIZE} is reserved by PyTorch but unallocated")
_ALLOCATED = re.compile(rf"Of the allocated memory {_SIZE} is allocated by PyTorch")
_OTHER = re.compile(rf"Process (\d+) has {_SIZE} memory in use")
AROUND_S = 30.0  # samples of the card so near to the error count
AT_ONCE_S = 2.0  # the allocator is asked when the error has come


@dataclass(frozen=True)
class DeviceShortage:
    """All in bytes; None where nobody said."""

    shortage: Shortage
    asked: int | None
    capacity: int | None
    free_on_card: int | None
    held_but_unused: int | None  # by the program's own allocator
    largest_piece: int | None
    others: tuple[dict[str, Any], ...]  # processes that are not the program's: pid, name, bytes
    events: tuple[Event, ...]


def find_device_shortage(journal: Journal) -> DeviceShortage | None:
    """The want of device memory that ended the program, or None."""
    result = find_shortage(journal)
    if result is None or not result.of_device:
        return None
    text = "\n".join([result.error.message, *result.error.chain])
    samples = [each for each in journal.of(DeviceSampled) if abs(each.at - result.error.at) < AROUND_S]
    before = [each for each in samples if each.at <= result.error.at] or samples
    counted = [each for each in journal.of(DeviceMemoryCounted) if abs(each.at - result.error.at) < AROUND_S]
    at_once = [each for each in counted if 0 <= each.at - result.error.at < AT_ONCE_S]  # others are counted now and then
    count = at_once[-1] if at_once else counted[-1] if counted else None
    card = before[-1] if before else None
    unused = _read_sizes(_UNALLOCATED, text)
    if unused is None and count is not None and count.in_use_bytes is not None and count.framework == "jax":
        held = count.reserved_bytes or count.limit_bytes  # what it may take and has not taken is nobody's yet
        unused = max(0, held - count.in_use_bytes) if held else None
    free = _read_sizes(_FREE, text)
    if free is None and card is not None:
        free = card.total_bytes - card.used_bytes
    return DeviceShortage(
        shortage=result,
        asked=result.asked_bytes,
        capacity=_read_sizes(_CAPACITY, text) or (card.total_bytes if card else None),
        free_on_card=free,
        held_but_unused=unused,
        largest_piece=count.largest_free_bytes if count else None,
        others=_others(text, before),
        events=tuple(event for event in (result.error, card, count) if event is not None),
    )


def _read_sizes(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return parse_size(found.group(1)) if found else None


def _others(text: str, samples: list[DeviceSampled]) -> tuple[dict[str, Any], ...]:
    """Named by PyTorch's own error, else seen by NVML; the largest first."""
    named = {int(pid): parse_size(size) or 0 for pid, size in _OTHER.findall(text)}
    seen: dict[int, dict[str, Any]] = {}
    for sample in samples:
        for process in sample.processes:
            if not process.get("ours"):
                seen[int(process["pid"])] = {
                    "pid": int(process["pid"]),
                    "name": process.get("name") or "",
                    "bytes": process.get("bytes") or 0,
                }
    for pid, size in named.items():
        seen.setdefault(pid, {"pid": pid, "name": "", "bytes": size})
    return tuple(sorted(seen.values(), key=lambda process: -int(process["bytes"])))


def describe_not_seen(journal: Journal) -> Unknown | None:
    """Why device memory cannot be judged, if it cannot."""
    if journal.of(FrameworkLoaded):
        return None
    failed = next((each for each in journal.of(SampleFailed) if each.signal == "device"), None)
    if failed is not None:
        return Unknown(failed.missing, failed.fix)
    return None


def format_gib(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
