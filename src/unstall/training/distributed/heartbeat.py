"""What the workers of a run hear of each other while they train: a word each second, over the connections by which they met.

    worker k ── {} ──▶ worker 0
             ◀── {"silent": [2], "unreached": [2], "gone": [3]} ──

Frameworks have heartbeats of their own, but wait for most of a minute, and then end everybody without a word about who it was.
This ends nobody. It tells whose machine or line has fallen silent while no step is made, and whose process is gone; the first
worker hears all others, and tells them what it hears. A step that was made is a sign of life of everybody, as all take part in
it. A machine whose kernel acknowledges our words is there, and so is the line to it: then only its process says nothing, which
may be kept from it by a compilation that does not let Python have a turn, and is given more time. A thread of its own, standard
library only.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

SAY_EVERY_S = 1.0
UNREACHED_S = 8.0  # without a word, nor any sign of its machine, which acknowledges within moments however busy it is
SILENT_S = 12.0  # without a word of a process whose machine answers: one that has too much to do is late by seconds, too
SILENT_AT_FIRST_S = 30.0  # the same before the first steps are made: what is traced and compiled may keep all others waiting
FIRST_STEPS = 3
TCP_INFO_BYTES, LAST_ACK_AT = 104, 56  # of the kernel's struct tcp_info: tcpi_last_ack_recv, milliseconds
OWN_PAUSE_S = 3.0  # between two rounds of ours: this process was kept from running, and cannot say who else was
LONGEST_LINE = 65536


@dataclass(frozen=True)
class LostWorkers:
    """Who is not heard any more: numbers of workers."""

    silent: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()  # in the order in which they went
    unreached: tuple[int, ...] = ()  # those of the silent whose machine does not answer either
    seconds: float = 0.0  # since the last sign of life of whoever has been silent the longest


@dataclass
class _Line:
    connection: socket.socket
    heard_at: float
    said: bytes = b""
    is_ended: bool = False


@dataclass
class _ReportOfFirst:
    """What the first worker has told us of the others."""

    silent: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    unreached: list[int] = field(default_factory=list)


class Heartbeat:
    def __init__(
        self, worker: int, connections: Mapping[int, socket.socket], tell: Callable[[LostWorkers], None], steps: Callable[[], int]
    ) -> None:
        """`tell` is called from a thread, when who is silent or gone has changed; `steps` says how many were made up to now."""
        self._worker, self._tell, self._steps = worker, tell, steps
        now = time.monotonic()
        self._lines = {number: _Line(connection, now) for number, connection in connections.items()}
        self._selector = selectors.DefaultSelector()
        for number, line in self._lines.items():
            line.connection.setblocking(False)
            self._selector.register(line.connection, selectors.EVENT_READ, number)
        self._gone: list[int] = []
        self._from_first = _ReportOfFirst()
        self._made, self._moved_at, self._round_at = steps(), now, now
        self.news = LostWorkers()
        self._thread = threading.Thread(target=self._live, name="unstall-heartbeat", daemon=True)

    def start(self) -> Heartbeat:
        self._thread.start()
        return self

    def newest(self, within_s: float) -> LostWorkers:
        """Who is gone or silent; if nobody is yet, so long is waited for it: a framework may notice before we do."""
        until = time.monotonic() + within_s
        while not (self.news.gone or self.news.silent) and time.monotonic() < until:
            time.sleep(0.02)
        return self.news

    def wait_for_others(self, within_s: float) -> bool:
        """Wait up to `within_s` for the processes at the other end of every connection to end; return whether they have. The
        kernel closes a connection when its process has ended, however it did."""
        until = time.monotonic() + within_s
        while not self._are_all_gone() and time.monotonic() < until:
            time.sleep(0.02)
        return self._are_all_gone()

    def _are_all_gone(self) -> bool:
        return all(line.is_ended for line in self._lines.values())

    # --- the thread ---

    def _live(self) -> None:
        while not self._are_all_gone():
            self._say()
            self._hear()
            self._judge(time.monotonic())

    def _say(self) -> None:
        news = self.news
        plain = {"silent": news.silent, "gone": news.gone, "unreached": news.unreached} if self._worker == 0 else {}
        words = json.dumps(plain).encode() + b"\n"
        for line in self._lines.values():
            if not line.is_ended:
                try:
                    line.connection.send(words)
                except OSError:
                    continue  # it does not take any more, or is gone, which is heard

    def _hear(self) -> None:
        """Until it is time to say something again, or somebody is gone, which is worth a word at once."""
        until = time.monotonic() + SAY_EVERY_S
        while (left := until - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if not self._hear_one(key.data):
                    return
            if not self._selector.get_map():
                return

    def _hear_one(self, number: int) -> bool:
        """False: it is gone."""
        line = self._lines[number]
        try:
            said = line.connection.recv(LONGEST_LINE)
        except BlockingIOError:
            return True
        except OSError:
            said = b""
        if not said:
            line.is_ended = True
            self._gone.append(number)
            self._selector.unregister(line.connection)
            line.connection.close()
            return False
        line.heard_at = time.monotonic()
        *whole, line.said = (line.said + said).split(b"\n")
        line.said = line.said[-LONGEST_LINE:]
        if whole and number == 0:
            self._from_first = _understood(whole[-1]) or self._from_first
        return True

    def _judge(self, now: float) -> None:
        made = self._steps()
        if made != self._made:
            self._made, self._moved_at = made, now
        if now - self._round_at > OWN_PAUSE_S:
            self._moved_at = now
        self._round_at = now
        news = self._as_it_is(now)
        if (news.silent, news.gone, news.unreached) != (self.news.silent, self.news.gone, self.news.unreached):
            self.news = news
            self._tell(news)

    def _as_it_is(self, now: float) -> LostWorkers:
        still_s, first = now - self._moved_at, self._from_first
        patience_s = SILENT_S if self._made >= FIRST_STEPS else SILENT_AT_FIRST_S
        silent, unreached = {}, []
        for number, line in self._lines.items():
            quiet_s = min(still_s, now - line.heard_at)
            is_unreached = not line.is_ended and quiet_s >= UNREACHED_S and compute_unanswered_s(line.connection) >= UNREACHED_S
            if is_unreached or (not line.is_ended and quiet_s >= patience_s):
                silent[number] = quiet_s
                unreached += [number] if is_unreached else []
        if still_s >= UNREACHED_S and 0 not in silent:
            silent.update({number: still_s for number in first.silent if number != self._worker})
            unreached += [number for number in first.unreached if number in silent]
        gone = [*self._gone, *(number for number in first.gone if number not in {*self._gone, self._worker})]
        left = sorted(set(silent) - set(gone))
        return LostWorkers(tuple(left), tuple(gone), tuple(sorted(set(unreached) & set(left))), max(silent.values(), default=0.0))


def compute_unanswered_s(connection: socket.socket) -> float:
    """Since the other machine acknowledged anything that was sent to it; 0: not known."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        return float(struct.unpack_from("=I", info, LAST_ACK_AT)[0]) / 1000
    except (OSError, struct.error):
        return 0.0


def _understood(words: bytes) -> _ReportOfFirst | None:
    try:
        plain: Any = json.loads(words)
        return _ReportOfFirst(*([int(each) for each in plain[name]] for name in ("silent", "gone", "unreached")))
    except (ValueError, TypeError, KeyError):
        return None  # none of ours
