"""Memory in words and numbers: what is left until which limit, sizes as people write them, what a run's memory does over time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unstall.journal.events import HostSampled

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d[\d,]*(?:\.\d*)?)\s*([kmgt]?)i?b(?:ytes?)?\b", re.IGNORECASE)
RATE_SAMPLES = 4
FILLING_SHARE = 0.3  # below this share of a limit, growth is that of any start


@dataclass(frozen=True)
class Room:
    """The limit that is nearest, and how much of it is used."""

    used_bytes: int
    limit_bytes: int
    of: str  # in words: whose limit

    @property
    def left_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes)

    @property
    def share(self) -> float:
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0


def room(host: HostSampled) -> Room | None:
    """The memory limit of the program's control group, or the machine's memory, whichever has less left."""
    rooms = []
    if host.total_bytes:
        rooms.append(Room(host.total_bytes - host.available_bytes, host.total_bytes, "the machine's memory"))
    if host.cgroup_limit_bytes and host.cgroup_used_bytes is not None:
        rooms.append(Room(host.cgroup_used_bytes, host.cgroup_limit_bytes, "the memory limit of its control group"))
    return min(rooms, key=lambda each: each.left_bytes, default=None)


def rate_bytes_s(hosts: Sequence[HostSampled]) -> float:
    """How fast the use of the nearest limit grows, over these samples."""
    rooms = [(host.at, found) for host in hosts if (found := room(host)) is not None]
    if len(rooms) < 2 or rooms[-1][0] <= rooms[0][0]:
        return 0.0
    return (rooms[-1][1].used_bytes - rooms[0][1].used_bytes) / (rooms[-1][0] - rooms[0][0])


def seconds_left(hosts: Sequence[HostSampled]) -> float | None:
    """Until the nearest limit is reached, if memory goes on growing as in the last few samples; None if it does not grow."""
    recent = list(hosts)[-RATE_SAMPLES:]
    rate, last = rate_bytes_s(recent), room(recent[-1]) if recent else None
    return last.left_bytes / rate if last is not None and rate > 0 else None


def is_filling(hosts: Sequence[HostSampled]) -> bool:
    last = room(hosts[-1]) if hosts else None
    return last is not None and last.share >= FILLING_SHARE


def size(count: float) -> str:
    """1.5 GiB, 230 MiB, 12 KiB."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= factor:
            number = count / factor
            return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{count:.0f} bytes"


def parse_size(text: str) -> int | None:
    """The first size in a text: '2.00 GiB', '17179869184 bytes', '2.53GiB'."""
    found = _SIZE.search(text)
    if found is None:
        return None
    number = float(found.group(1).replace(",", "").rstrip("."))
    return int(number * _UNITS[found.group(2).lower()])


def duration(seconds: float) -> str:
    """40 s, 12 min, 3.5 h, 2 days."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"
