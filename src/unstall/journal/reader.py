"""Reads journals: whole or while they are written; a torn last line waits for its rest, a damaged one is counted.

A run folder may hold several journal files, one per process. `Journal` puts them in order of time and is what the
causes look at.
"""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from unstall.base.redact.text import can_hold_secret, redact
from unstall.journal.events import (
    Event,
    PlanMade,
    PlanUndone,
    PlanVerified,
    RepairsEnded,
    RunStarted,
    StackSampled,
    ThreadsSeen,
    UpdateSkipped,
    WeightsSampled,
    from_plain,
)
from unstall.journal.legacy_names import OLD_PROBE_FILES, update_event

E = TypeVar("E", bound=Event)

JOURNAL_FILES = "events-*.jsonl"
PULSE_FILES = "pulse-*"
PROBE_FILES = "events-probe"  # and the number of the process
MAX_OF_A_KIND = 3000  # in memory; a run of weeks must not grow its watcher
MAX_OF_A_LARGE_KIND = 300
LARGE_KINDS = (StackSampled, ThreadsSeen, WeightsSampled)  # each some tens of kilobytes in memory
NEWEST_SHARE, OLDEST_SHARE = 1 / 2, 1 / 8  # of these, that stay whole; what lies between is thinned out
PIECE_BYTES = 4 * 2**20  # of a file that is read piece by piece
BEGINS_WITHIN_S = 15.0  # the first event of a run is written, once its journal is there
LATEST_AT = 1e11  # seconds since 1970: no event is of the year 5138
# A training that was repaired has had several workers, one after the other: causes look at the newest, these tell of the run.
OF_THE_WHOLE_RUN = (PlanMade, PlanVerified, PlanUndone, RepairsEnded, UpdateSkipped)


@dataclass(frozen=True)
class UnreadLines:
    """What could not be read of a journal file."""

    file: str  # its name
    lines: int
    is_all: bool  # and nothing else is in it
    why: str = ""  # it could not be opened


class Tail:
    """Follows one growing file. `read` gives the events that were completed since the last call."""

    def __init__(self, path: Path, kinds: frozenset[bytes] | None = None) -> None:
        """`kinds`: names of events; lines of all others are passed over unread, which is much cheaper."""
        self.path = path
        self.damaged_lines = 0
        self._kinds = kinds
        self._closed_as = ""  # why it could not be opened
        self._good_lines = 0
        self._offset = 0
        self._rest = b""

    def read(self, max_bytes: int = -1) -> list[Event]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(max_bytes)
        except OSError as error:
            self._closed_as = error.strerror or type(error).__name__
            return []
        self._closed_as = ""
        self._offset += len(data)
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        kinds = self._kinds
        if kinds is not None:
            lines = [line for line in lines if _kind(line) in kinds]
        return [event for event in map(self._parse, filter(None, lines)) if event is not None]

    def skip_to_end(self, but_bytes: int) -> None:
        """Goes on so many bytes before the end of the file, where that is not behind already; there with the next whole line."""
        try:
            start = self.path.stat().st_size - but_bytes
            if start <= self._offset:
                return
            with self.path.open("rb") as file:
                file.seek(start)
                file.readline()
                self._offset, self._rest = file.tell(), b""
        except OSError:
            return

    def pieces(self) -> Iterator[Event]:
        """All that is there now, without ever holding a large file in memory."""
        while True:
            before = self._offset
            yield from self.read(PIECE_BYTES)
            if self._offset == before:
                return

    def _parse(self, line: bytes) -> Event | None:
        """None: it is damaged, or of a kind that this version does not know."""
        try:
            event = from_plain(update_event(_of_line(line)))
            if event is not None and not abs(event.at) < LATEST_AT:
                raise ValueError("no moment of a run")
        except (ValueError, TypeError, RecursionError):
            self.damaged_lines += 1
            return None
        self._good_lines += 1
        return event

    @property
    def unread(self) -> UnreadLines | None:
        """A half line at the end is being written; what does not even begin like a line is none of ours."""
        lines = self.damaged_lines + (bool(self._rest) and not self._rest.startswith(b"{"))
        if not lines and not self._closed_as:
            return None
        return UnreadLines(self.path.name, lines, not self._good_lines, self._closed_as)


def _of_line(line: bytes) -> dict[str, Any]:
    plain = json.loads(line)
    if can_hold_secret(line.decode("utf-8", "replace")):
        plain = redact(plain)  # of a journal that was written by an older version, or by something else
    if not isinstance(plain, dict) or not isinstance(plain.get("event"), str):
        raise TypeError("no event")
    return plain


def _kind(line: bytes) -> bytes:
    """The name of a line's event, which the writer puts first."""
    return line[10 : line.find(b'"', 10)] if line.startswith(b'{"event":"') else b""


class FolderTail:
    """Follows all journal files of a folder, also ones that appear later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tails: dict[Path, Tail] = {}

    def _find(self) -> None:
        for path in sorted(self.folder.glob(JOURNAL_FILES)):
            self._tails.setdefault(path, Tail(path))

    def stream(self) -> Iterator[Event]:
        """What `read` gives, merged by time as it is read: a run of weeks need not be held in memory."""
        self._find()
        yield from heapq.merge(*(tail.pieces() for tail in self._tails.values()), key=lambda event: event.at)

    def read(self) -> list[Event]:
        self._find()
        events = [event for tail in self._tails.values() for event in tail.read()]
        events.sort(key=lambda event: event.at)
        return events

    def judge(self, journal: Journal) -> None:
        """Tells the journal of what was read how well that went."""
        found = [tail.unread for tail in self._tails.values()]
        journal.unread = (*(each for each in found if each is not None), *self._gone())
        journal.is_beginning = journal.count == 0 and not journal.unread and self._is_new()

    def _gone(self) -> Iterator[UnreadLines]:
        """Journals of programs whose pulse is there: a program writes its first event before it has one."""
        for pulse in sorted(self.folder.glob(PULSE_FILES)):
            number = pulse.name.partition("-")[2]
            names = [f"{kind}-{number}.jsonl" for kind in (PROBE_FILES, OLD_PROBE_FILES)]
            if not any(self.folder / name in self._tails for name in names):
                yield UnreadLines(names[0], 0, is_all=True, why="it is gone")

    def _is_new(self) -> bool:
        try:
            written = [path.stat().st_mtime for path in self._tails]
        except OSError:
            return False
        return bool(written) and time.time() - max(written) < BEGINS_WITHIN_S


class Journal:
    """Events in order of time, found by kind. `now` is the moment up to which the journal knows."""

    def __init__(self, events: Iterable[Event] = (), now: float | None = None) -> None:
        self._by_kind: dict[type[Event], list[Event]] = {}
        self._now = now
        self._last_at = 0.0
        self.unread: tuple[UnreadLines, ...] = ()  # of the files that it was read from
        self.is_beginning = False  # its files were made a moment ago, and nothing is in them yet
        self.count = 0
        self.extend(sorted(events, key=lambda event: event.at))

    def extend(self, events: Iterable[Event]) -> None:
        for event in events:
            kept = self._by_kind.setdefault(type(event), [])
            kept.append(event)
            if len(kept) > 1 and event.at < kept[-2].at:
                kept.sort(key=lambda each: each.at)
            most = MAX_OF_A_LARGE_KIND if isinstance(event, LARGE_KINDS) else MAX_OF_A_KIND
            if len(kept) > most:
                _thin_out(kept, most)
            self._last_at = max(self._last_at, event.at)
            self.count += 1

    def of(self, kind: type[E]) -> list[E]:
        return cast("list[E]", self._by_kind.get(kind, []))

    def last(self, kind: type[E]) -> E | None:
        events = self.of(kind)
        return events[-1] if events else None

    def first(self, kind: type[E]) -> E | None:
        events = self.of(kind)
        return events[0] if events else None

    def since(self, kind: type[E], at: float) -> list[E]:
        return [event for event in self.of(kind) if event.at >= at]

    def up_to(self, at: float) -> Journal:
        """As it was at that moment."""
        return Journal((event for event in self.all() if event.at <= at), now=at)

    @property
    def now(self) -> float:
        return max(self._now or 0.0, self._last_at)

    @now.setter
    def now(self, at: float) -> None:
        self._now = at

    def all(self) -> list[Event]:
        return sorted((event for events in self._by_kind.values() for event in events), key=lambda event: event.at)


def _thin_out(events: list[Event], most: int) -> None:
    """Drops every second event of the middle: the begin and the newest stay whole."""
    middle = slice(int(most * OLDEST_SHARE), -int(most * NEWEST_SHARE))
    events[middle] = events[middle][::2]


def read_stream(folder: Path) -> Iterator[Event]:
    """All events of a folder, those of its files merged by time. A run of weeks is read without being held in memory."""
    return FolderTail(folder).stream()


def read_folder(folder: Path) -> Journal:
    tail = FolderTail(folder)
    journal = Journal(select_newest_worker(tail.read()))
    tail.judge(journal)
    return journal


def select_newest_worker(events: list[Event]) -> list[Event]:
    """All events, where there was one program; of a training that was repaired, those since its newest worker was started."""
    started = [event.at for event in events if isinstance(event, RunStarted) and event.mode == "train"]
    return select_since(events, max(started)) if len(started) > 1 else events


def select_since(events: Iterable[Event], at: float) -> list[Event]:
    return [event for event in events if event.at >= at or isinstance(event, OF_THE_WHOLE_RUN)]
