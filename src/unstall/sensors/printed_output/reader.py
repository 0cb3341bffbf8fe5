"""Reads what a program prints as it comes: the copies that a relay gives, or the file that the program writes.

Reading takes a bounded share of one core. Where the program prints faster than that, the newest is read, and the event says how
much was not.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from unstall.journal.events import Event, OutputSkipped
from unstall.sensors.printed_output.parser import OutputParser, Series

CPU_S_PER_LOOK = 0.02  # there are two looks in a second
MIN_BYTES, MAX_BYTES = 8 * 1024, 2**20  # that are read in one look
READ_BYTES = 2**20
FILE_INTERVAL_S = 0.3
FILE_LAST_LOOK_S = 2.0  # a file on a dead server is not waited for
REPORT_SKIPPED_EVERY_S = 60.0


class Piece:
    """Of what was printed: when it came, and how many bytes before it are missing."""

    __slots__ = ("at", "data", "left_out")

    def __init__(self, at: float, left_out: int, data: bytes) -> None:
        self.at, self.left_out, self.data = at, left_out, data


class Source(Protocol):
    def read(self) -> list[Piece]: ...

    def close(self) -> None: ...


class CopySource:
    """What a relay copies: frames in a pipe. `frame`: when, bytes left out before it, its length."""

    def __init__(self, descriptor: int, frame: struct.Struct) -> None:
        self._descriptor = descriptor
        self._frame = frame
        self._rest = b""

    def read(self) -> list[Piece]:
        pieces: list[Piece] = []
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, READ_BYTES)
            except OSError:
                break  # nothing more at present
            if not data:
                self.close()
                break
            pieces += self._frames(data)
            if len(data) < READ_BYTES:
                break
        return pieces

    def _frames(self, data: bytes) -> list[Piece]:
        data, start, pieces = self._rest + data, 0, []
        while len(data) - start >= self._frame.size:
            at, left_out, length = self._frame.unpack_from(data, start)
            end = start + self._frame.size + length
            if end > len(data):
                break
            pieces.append(Piece(at, left_out, data[start + self._frame.size : end]))
            start = end
        self._rest = data[start:]
        return pieces

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class FileSource:
    """A file that grows, from where it ended when the program began. It is read in a thread: its server may not answer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = os.lseek(descriptor, 0, os.SEEK_CUR)
        self._ours: deque[tuple[int, int]] = deque()  # parts of the file that Unstall itself has printed
        self._pieces: deque[Piece] = deque()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="unstall-output", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._is_over.wait(FILE_INTERVAL_S):
            self._look()
        self._look()
        os.close(self._descriptor)

    def _look(self) -> None:
        try:
            size = os.fstat(self._descriptor).st_size
            if size < self._offset:
                self._offset = 0  # it was cut, as a log is that is rotated
            left_out = max(0, size - self._offset - MAX_BYTES)
            data = os.pread(self._descriptor, min(size - self._offset, MAX_BYTES), self._offset + left_out)
        except OSError:
            return
        if data:
            start = self._offset + left_out
            self._offset = start + len(data)
            self._pieces += self._without_ours(start, data, left_out)

    def _without_ours(self, start: int, data: bytes, left_out: int) -> Iterable[Piece]:
        now, at, end = time.time(), start, start + len(data)
        for began, ended in list(self._ours):
            if began < end and ended > at:
                yield Piece(now, left_out, data[at - start : max(at, began) - start])
                at, left_out = min(ended, end), 0
            if ended <= end:
                self._ours.popleft()
        yield Piece(now, left_out, data[at - start :])

    def print_own(self, call: Callable[[], None]) -> None:
        """Calls what prints into the same file; what stands there since is not read."""
        began = os.fstat(self._descriptor).st_size
        self._ours.append((began, sys.maxsize))
        call()
        self._ours[-1] = (began, os.fstat(self._descriptor).st_size)

    def read(self) -> list[Piece]:
        pieces = []
        while self._pieces:
            pieces.append(self._pieces.popleft())
        return pieces

    def close(self) -> None:
        """What the file holds by then is there to be read afterwards."""
        self._is_over.set()
        self._thread.join(FILE_LAST_LOOK_S)


class StreamReader:
    """One stream: its source, and the parser that makes events of it."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.parser = OutputParser(name, time.time())
        self.source = source
        self._cost_s = 1e-6  # of a byte
        self._skipped = 0
        self._skip_reported_at = 0.0

    def read(self, at: float) -> list[Event]:
        events = self._parse(self.source.read())
        events += self.parser.poll(at)
        if self._skipped and at - self._skip_reported_at >= REPORT_SKIPPED_EVERY_S:
            events += self._report_skipped(at)
        return events

    def finish(self, at: float) -> list[Event]:
        before = self.source.read()
        self.source.close()
        return [*self._parse([*before, *self.source.read()]), *self.parser.finish(at), *self._report_skipped(at)]

    def _parse(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        began, length = time.thread_time(), 0
        for piece in self._affordable(pieces):
            if piece.left_out:
                self._skipped += piece.left_out
                self.parser.skip()
            events += self.parser.feed(piece.data, piece.at)
            length += len(piece.data)
        if length:
            self._cost_s = 0.5 * self._cost_s + 0.5 * (time.thread_time() - began) / length
        return events

    def _affordable(self, pieces: list[Piece]) -> Iterable[Piece]:
        """The newest of them, as many as may be read."""
        left = int(max(MIN_BYTES, min(MAX_BYTES, CPU_S_PER_LOOK / max(self._cost_s, 1e-9))))
        kept: list[Piece] = []
        for place in range(len(pieces) - 1, -1, -1):
            piece = pieces[place]
            if len(piece.data) > left:
                before = sum(len(each.data) + each.left_out for each in pieces[:place])
                cut = len(piece.data) - left
                kept.append(Piece(piece.at, before + piece.left_out + cut, piece.data[cut:]))
                break
            left -= len(piece.data)
            kept.append(piece)
        return reversed(kept)

    def _report_skipped(self, at: float) -> list[Event]:
        if not self._skipped:
            return []
        event = OutputSkipped(at=at, stream=self.name, skipped_bytes=self._skipped)
        self._skipped, self._skip_reported_at = 0, at
        return [event]


class PrintedOutput:
    """All that is read of one program."""

    def __init__(self, streams: Iterable[StreamReader] = ()) -> None:
        self._streams = list(streams)

    def print_own(self, call: Callable[[], None]) -> None:
        """Calls what prints for Unstall itself, on standard error: where that is a file that is read, it is not the program's."""
        for stream in self._streams:
            if stream.name.endswith("stderr") and isinstance(stream.source, FileSource):
                return stream.source.print_own(call)
        return call()

    def read(self, at: float) -> list[Event]:
        return [event for stream in self._streams for event in stream.read(at)]

    def finish(self, at: float) -> list[Event]:
        streams, self._streams = self._streams, []
        return [event for stream in streams for event in stream.finish(at)]

    @property
    def progress(self) -> Series | None:
        """Of the training, as it was printed last."""
        known = [series for stream in self._streams if (series := stream.parser.progress) is not None]
        return max(known, key=lambda series: series.last_at, default=None)

    @property
    def alive_at(self) -> float:
        """When a line of progress came last, of whatever."""
        return max((stream.parser.alive_at for stream in self._streams), default=0.0)
