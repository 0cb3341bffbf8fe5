"""What an error for want of device memory says in numbers, and what NVML and the allocator saw around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.host_memory import parse_size
from unstall.diagnosis.out_of_memory import Shortage, shortage
from unstall.diagnosis.verdict import Unknown
from unstall.journal.events import DeviceMemoryCounted, DeviceSampled, Event, FrameworkLoaded, SampleFailed
from unstall.journal.reader import Journal

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

    told: Shortage
    asked: int | None
    capacity: int | None
    free_on_card: int | None
    held_but_unused: int | None  # by the program's own allocator
    largest_piece: int | None
    others: tuple[dict[str, Any], ...]  # processes that are not the program's: pid, name, bytes
    events: tuple[Event, ...]


def device_shortage(journal: Journal) -> DeviceShortage | None:
    """The want of device memory that ended the program, or None."""
    told = shortage(journal)
    if told is None or not told.of_device:
        return None
    text = "\n".join([told.error.message, *told.error.chain])
    samples = [each for each in journal.of(DeviceSampled) if abs(each.at - told.error.at) < AROUND_S]
    before = [each for each in samples if each.at <= told.error.at] or samples
    counted = [each for each in journal.of(DeviceMemoryCounted) if abs(each.at - told.error.at) < AROUND_S]
    at_once = [each for each in counted if 0 <= each.at - told.error.at < AT_ONCE_S]  # others are counted now and then
    count = at_once[-1] if at_once else counted[-1] if counted else None
    card = before[-1] if before else None
    unused = _read(_UNALLOCATED, text)
    if unused is None and count is not None and count.in_use_bytes is not None and count.framework == "jax":
        held = count.reserved_bytes or count.limit_bytes  # what it may take and has not taken is nobody's yet
        unused = max(0, held - count.in_use_bytes) if held else None
    free = _read(_FREE, text)
    if free is None and card is not None:
        free = card.total_bytes - card.used_bytes
    return DeviceShortage(
        told=told,
        asked=told.asked_bytes,
        capacity=_read(_CAPACITY, text) or (card.total_bytes if card else None),
        free_on_card=free,
        held_but_unused=unused,
        largest_piece=count.largest_free_bytes if count else None,
        others=_others(text, before),
        events=tuple(event for event in (told.error, card, count) if event is not None),
    )


def _read(pattern: re.Pattern[str], text: str) -> int | None:
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


def not_seen(journal: Journal) -> Unknown | None:
    """Why device memory cannot be judged, if it cannot."""
    if journal.of(FrameworkLoaded):
        return None
    failed = next((each for each in journal.of(SampleFailed) if each.signal == "device"), None)
    if failed is not None:
        return Unknown(failed.missing, failed.cure)
    return None


def gib(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
