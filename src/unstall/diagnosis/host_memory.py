"""Memory in words and numbers: what is left until which limit, sizes as people write them, what a run's memory does over time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from unstall.journal.events import EpochEnded, FitBegan, HostSampled, ProcessEnded, StepsEnded
from unstall.journal.reader import Journal

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


def measure_room(host: HostSampled) -> Room | None:
    """The memory limit of the program's control group, or the machine's memory, whichever has less left."""
    rooms = []
    if host.total_bytes:
        rooms.append(Room(host.total_bytes - host.available_bytes, host.total_bytes, "the machine's memory"))
    if host.cgroup_limit_bytes and host.cgroup_used_bytes is not None:
        rooms.append(Room(host.cgroup_used_bytes, host.cgroup_limit_bytes, "the memory limit of its control group"))
    return min(rooms, key=lambda each: each.left_bytes, default=None)


def compute_rate_bytes_s(hosts: Sequence[HostSampled]) -> float:
    """How fast the use of the nearest limit grows, over these samples."""
    rooms = [(host.at, found) for host in hosts if (found := measure_room(host)) is not None]
    if len(rooms) < 2 or rooms[-1][0] <= rooms[0][0]:
        return 0.0
    return (rooms[-1][1].used_bytes - rooms[0][1].used_bytes) / (rooms[-1][0] - rooms[0][0])


def estimate_seconds_left(hosts: Sequence[HostSampled]) -> float | None:
    """Until the nearest limit is reached, if memory goes on growing as in the last few samples; None if it does not grow."""
    recent = list(hosts)[-RATE_SAMPLES:]
    rate, last = compute_rate_bytes_s(recent), measure_room(recent[-1]) if recent else None
    return last.left_bytes / rate if last is not None and rate > 0 else None


def is_filling(hosts: Sequence[HostSampled]) -> bool:
    last = measure_room(hosts[-1]) if hosts else None
    return last is not None and last.share >= FILLING_SHARE


def parse_size(text: str) -> int | None:
    """The first size in a text: '2.00 GiB', '17179869184 bytes', '2.53GiB'."""
    found = _SIZE.search(text)
    if found is None:
        return None
    number = float(found.group(1).replace(",", "").rstrip("."))
    return int(number * _UNITS[found.group(2).lower()])


# Whether a run's memory grows without end, or as memory does that is being put to use: by its floor, over several periods.
#
# A floor is the least that was used in a stretch of the training: what comes and goes does not raise it. Memory leaks if the
# floor rises evenly from quarter to quarter, and each quarter holds at least a whole pass over the data: within one pass a
# program may well collect things that it lets go at the end, and in the first one caches fill. Quarters are counted in steps,
# where steps are seen: a machine that is busy with other things slows down a leak as it does the training.


QUARTERS = 4
MIN_SAMPLES = 12
MIN_STEPS = 12
MIN_GROWN_BYTES = 64 << 20
MIN_EACH_BYTES = 4 << 20  # in every quarter
EVEN_SHARE = 0.3  # the least quarter's growth, of the mean
LASTING_SHARE = 0.6  # the last quarter's growth, of the first's: what fills up slows down
MIN_PASSES = 3  # after the first one
LOOKED_BACK_S = 1200.0
LETS_GO_S = 4.0


@dataclass(frozen=True)
class Growth:
    grown_bytes: int
    seconds: float
    hosts: tuple[HostSampled, ...]

    @property
    def bytes_s(self) -> float:
        return self.grown_bytes / self.seconds if self.seconds else 0.0


def select_own_memory(host: HostSampled) -> int:
    """The program's own data, in memory or swapped out."""
    return (host.anon_bytes or host.rss_bytes) + host.swapped_bytes


def find_steady_growth(hosts: Sequence[HostSampled], min_s: float, clock: Clock) -> Growth | None:
    """The even growth of the floor over these samples; None if they are too few or it does not grow evenly."""
    if len(hosts) < MIN_SAMPLES or hosts[-1].at - hosts[0].at < min_s:
        return None
    parts = clock.quarters(hosts)
    if not all(parts):
        return None
    floors = [min(select_own_memory(host) for host in part) for part in parts]
    rises = [after - before for before, after in pairwise(floors)]
    total = floors[-1] - floors[0]
    even = max(MIN_EACH_BYTES, EVEN_SHARE * total / len(rises))
    if total < MIN_GROWN_BYTES or min(rises) < even or rises[-1] < LASTING_SHARE * rises[0]:
        return None
    return Growth(total, parts[-1][0].at - parts[0][0].at, tuple(hosts))


class Clock:
    """Counts steps over the time of a journal; counts seconds where steps are not seen, or too few."""

    def __init__(self, journal: Journal) -> None:
        self._points: list[tuple[float, int]] = []
        done = 0
        for group in journal.of(StepsEnded):
            if group.phase == "train":
                done += group.last - group.first + 1
                self._points.append((group.at, done))

    def steps(self, at: float) -> float:
        """Steps done by this time, evenly between two points that are known."""
        index = bisect_right(self._points, (at, 1 << 62))
        if index == 0:
            return 0.0
        before = self._points[index - 1]
        if index == len(self._points):
            return float(before[1])
        after = self._points[index]
        return before[1] + (after[1] - before[1]) * (at - before[0]) / max(1e-9, after[0] - before[0])

    def quarters(self, hosts: Sequence[HostSampled]) -> list[list[HostSampled]]:
        ticks = [self.steps(host.at) for host in hosts]
        if ticks[-1] - ticks[0] < MIN_STEPS:
            ticks = [host.at for host in hosts]
        length = (ticks[-1] - ticks[0]) / QUARTERS
        parts: list[list[HostSampled]] = [[] for _ in range(QUARTERS)]
        for host, tick in zip(hosts, ticks, strict=True):
            parts[min(QUARTERS - 1, int((tick - ticks[0]) / length)) if length else 0].append(host)
        return parts


def find_growth_over_passes(journal: Journal, min_s: float) -> Growth | None:
    """Growth after the first pass over the data, through several whole ones."""
    ends = find_pass_ends(journal)
    if len(ends) < MIN_PASSES + 1:
        return None
    since = max(ends[0], journal.now - LOOKED_BACK_S)
    hosts = _training(journal, since)
    if len(hosts) < 2:
        return None
    passes = [end for end in ends if end >= since]
    longest = max((after - before for before, after in pairwise(passes)), default=0.0)
    if len(passes) < MIN_PASSES + 1 or (hosts[-1].at - hosts[0].at) / QUARTERS < longest:
        return None
    return find_steady_growth(hosts, min_s, Clock(journal))


def find_pass_ends(journal: Journal) -> list[float]:
    """When epochs ended, by Keras or in one's own loop, and when one fit after another began."""
    ends = [event.at for event in journal.of(EpochEnded)]
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    ends += [after.at for before, after in pairwise(groups) if after.epoch > before.epoch]
    ends += [fit.at for fit in journal.of(FitBegan)[1:]]
    ends.sort()
    return [end for index, end in enumerate(ends) if index == 0 or end - ends[index - 1] > 0.01]


def _training(journal: Journal, since: float) -> list[HostSampled]:
    """Samples up to the last training step: what comes after it is another part of the program."""
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    if not groups:
        return []
    return [host for host in journal.since(HostSampled, since) if host.at <= groups[-1].at]


def _before_the_end(journal: Journal, since: float) -> list[HostSampled]:
    """Where steps are not seen: without the last seconds of a program that has ended, in which it lets go of everything."""
    ended = journal.last(ProcessEnded)
    until = ended.at - LETS_GO_S if ended is not None else journal.now
    return [host for host in journal.since(HostSampled, since) if host.at <= until]


def find_growth_in_training(journal: Journal, since: float, min_s: float) -> Growth | None:
    """Growth while steps are made, however many passes: for causes that know by other means what grows."""
    hosts = _training(journal, since) or _before_the_end(journal, since)
    return find_steady_growth(hosts, min_s, Clock(journal))
