"""Where the workers of a run meet before any framework takes over: worker 0 listens at the coordinator's port, the others come.

    worker k ── {"worker": 1, "of": 4, "host": …, "pid": …, "card": …, "at": …} ──▶ worker 0
             ◀── {"go": [the hosts of all], "agreed": …, "clock": …}, when all have come; or {"refused": why} ──

Frameworks meet by themselves, too, but wait without a word for whoever does not come, end the process with an abort when
their time is up, and crash where the port is taken. Here it is known who is missing and who came with other versions, all agree
on what they will do, and a worker that was started again meets the others' new lives and never their old ones. The connections
stay, and carry the heartbeats (heartbeat.py). Standard library only.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.training.distributed.collectives import AddressTaken, PeersLost
from unstall.training.distributed.engines import ProcessEnv

MAX_WAIT_S = 300.0  # for others to come: a machine may have to be fetched and its image to be loaded
LOOK_EVERY_S = 0.2
TRY_AGAIN_S = 0.3
LONGEST_LINE = 2**20
LOOPBACK = ("127.", "localhost", "::1")

Card = dict[str, Any]  # what a worker shows of itself: what must be the "same" for all, by name, and what it wishes
Agree = Callable[[list[Card]], Card]  # what is made of the cards of all, by worker 0: the same for all


@dataclass(frozen=True)
class WaitStatus:
    """What is waited for, as far as it is known here."""

    seconds: float
    missing: tuple[int, ...]  # numbers of workers; only worker 0 knows of others than itself
    why: str = ""  # worker 0 cannot be reached


@dataclass(frozen=True)
class RendezvousResult:
    hosts: tuple[str, ...]  # of each worker
    address: str  # of this machine, by which the others reach it
    seconds: float
    at: float  # wall clock when all had come
    agreed: Card
    connections: dict[int, socket.socket] = field(default_factory=dict, compare=False)  # to worker 0; of that, to all others
    clock: Clock | None = None  # None: it is the first, or does not know


@dataclass(frozen=True)
class Clock:
    """By how much the clock of this machine is ahead of that of worker 0, known within `error_s`: by when each said and heard
    what they had to say; the way there and back lies between."""

    ahead_s: float
    error_s: float


Waiting = Callable[[WaitStatus], None]  # called now and then; what it raises ends the waiting


def meet(who: ProcessEnv, card: Card, agree: Agree, waiting: Waiting, max_wait_s: float = MAX_WAIT_S) -> RendezvousResult:
    participant = _Host(who, card, agree) if who.is_first else _Joiner(who, card)
    return participant.meet(waiting, time.monotonic(), max_wait_s)


def is_loopback(address: str) -> bool:
    return address.startswith(LOOPBACK)


def parse_port(who: ProcessEnv) -> tuple[str, int]:
    host, _, port = who.coordinator.rpartition(":")
    return host.strip("[]"), int(port)


# --- worker 0 ---


@dataclass
class _Arrival:
    connection: socket.socket
    said: bytes = b""
    hello: Card = field(default_factory=dict)  # once it was said
    heard_at: float = 0.0  # wall clock, the same


class _Host:
    def __init__(self, who: ProcessEnv, card: Card, agree: Agree) -> None:
        self._who, self._card, self._agree = who, card, agree
        self._came: dict[int, _Arrival] = {}  # by file descriptor
        self._selector = selectors.DefaultSelector()

    def meet(self, waiting: Waiting, began: float, max_wait_s: float) -> RendezvousResult:
        host, port = parse_port(self._who)
        try:
            listener = _listening(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise AddressTaken(f"port {port} is taken") from None
            raise InvalidInputError(
                f"UNSTALL_COORDINATOR: worker 0 cannot listen at {self._who.coordinator}: {error.strerror}."
            ) from None
        with listener, self._selector:
            self._selector.register(listener, selectors.EVENT_READ)
            while missing := self.missing():
                waited = time.monotonic() - began
                if waited > max_wait_s:
                    raise PeersLost(f"after {waited:.0f} s these have not come: {_listed(missing)} of {self._who.world_size}")
                waiting(WaitStatus(waited, missing))
                self._look(listener)
            return self._go(began)

    def missing(self) -> tuple[int, ...]:
        there = {came.hello["worker"] for came in self._came.values() if came.hello}
        return tuple(number for number in range(1, self._who.world_size) if number not in there)

    def _look(self, listener: socket.socket) -> None:
        for key, _ in self._selector.select(LOOK_EVERY_S):
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                self._came[connection.fileno()] = _Arrival(connection)
                self._selector.register(connection, selectors.EVENT_READ)
            else:
                self._hear(self._came[key.fd])

    def _hear(self, came: _Arrival) -> None:
        try:
            said = came.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        came.said += said
        if not said or len(came.said) > LONGEST_LINE:
            self._let_go(came)  # it has died, or is none of ours
        elif b"\n" in came.said and not came.hello:
            self._greet(came)

    def _greet(self, came: _Arrival) -> None:
        try:
            hello = json.loads(came.said.partition(b"\n")[0])
            number = int(hello["worker"])
            why = self._why_not(number, hello)
        except (ValueError, TypeError, KeyError):
            return self._let_go(came)  # a scanner of ports, say
        if why:
            _send(came.connection, {"refused": why})
            self._refuse_all(why)
            raise InvalidInputError(why)
        for old in [each for each in self._came.values() if each.hello.get("worker") == number]:
            self._let_go(old)
        came.hello, came.heard_at = {**hello, "worker": number}, time.time()
        return None

    def _why_not(self, number: int, hello: Card) -> str:
        joiner = f"worker {number} (process {hello['pid']} on {hello['host']})"
        world_size = self._who.world_size
        if hello["of"] != world_size or not 0 < number < world_size:
            return f"{joiner} is one of {hello['of']}; expected a number from 1 to {world_size - 1} of {world_size}."
        twin = next((came.hello for came in self._came.values() if came.hello.get("worker") == number), None)
        if twin is not None and not _is_next_life(twin, hello):
            return f"{joiner} is there twice: also as process {twin['pid']} on {twin['host']}."
        difference = find_difference(self._card["same"], hello["card"]["same"])
        return f"{joiner} differs from worker 0: {difference}." if difference else ""

    def _refuse_all(self, why: str) -> None:
        for came in self._came.values():
            if came.hello:
                _send(came.connection, {"refused": why})

    def _let_go(self, came: _Arrival) -> None:
        self._selector.unregister(came.connection)
        del self._came[came.connection.fileno()]
        came.connection.close()

    def _go(self, began: float) -> RendezvousResult:
        joiners = sorted((came for came in self._came.values() if came.hello), key=lambda came: int(came.hello["worker"]))
        hosts = (socket.gethostname(), *(str(came.hello["host"]) for came in joiners))
        address = str(joiners[0].connection.getsockname()[0]).removeprefix("::ffff:")
        agreed = self._agree([self._card, *(came.hello["card"] for came in joiners)])
        for came in joiners:
            _send(came.connection, {"go": hosts, "agreed": agreed, "clock": [came.heard_at, time.time()]})
        at = time.time()
        for came in self._came.values():
            if not came.hello:
                came.connection.close()
        connections = {int(came.hello["worker"]): came.connection for came in joiners}
        return RendezvousResult(hosts, address, time.monotonic() - began, at, agreed, connections)


def _is_next_life(one: Card, other: Card) -> bool:
    """Both were started by the same supervisor, so that the first is dead: its end may have been lost with the line to it."""
    return bool(one.get("started_by")) and all(one.get(name) == other.get(name) for name in ("host", "started_by"))


def _listening(host: str, port: int) -> socket.socket:
    """On loopback where all are on this machine; else at every address, as a machine may have several names."""
    if is_loopback(host):
        return socket.create_server((host, port), backlog=1024)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    return socket.create_server(("", port), backlog=1024)


# --- the others ---


class _Joiner:
    def __init__(self, who: ProcessEnv, card: Card) -> None:
        self._who = who
        self._hello = {
            "worker": who.rank, "of": who.world_size, "host": socket.gethostname(), "pid": os.getpid(), "card": card,
            "started_by": os.getppid(),
        }  # fmt: skip

    def meet(self, waiting: Waiting, began: float, max_wait_s: float) -> RendezvousResult:
        why = ""
        while (waited := time.monotonic() - began) <= max_wait_s:
            waiting(WaitStatus(waited, (0,) if why else (), why))
            try:
                met = self._await_all(waiting, began, max_wait_s)
            except OSError as error:  # not there yet, not to be found by its name, or gone while it was waited for
                why = error.strerror or str(error)
                time.sleep(TRY_AGAIN_S)
                continue
            if met is not None:
                return met
            why = "it ended while the others were waited for"
            time.sleep(TRY_AGAIN_S)
        reason = f"worker 0 cannot be reached at {self._who.coordinator}: {why}" if why else "not all have come"
        raise PeersLost(f"after {max_wait_s:.0f} s {reason}")

    def _await_all(self, waiting: Waiting, began: float, max_wait_s: float) -> RendezvousResult | None:
        """None: worker 0 went away."""
        connection = socket.create_connection(parse_port(self._who), timeout=5.0)
        met = None
        try:
            if connection.getsockname() != connection.getpeername():  # nobody listens yet, and we were lent the very same port
                met = self._answered(connection, waiting, began, max_wait_s)
        finally:
            if met is None:
                connection.close()
        return met

    def _answered(self, connection: socket.socket, waiting: Waiting, began: float, max_wait_s: float) -> RendezvousResult | None:
        asked_at = time.time()
        _send(connection, self._hello)
        connection.settimeout(LOOK_EVERY_S)
        said = b""
        while b"\n" not in said:
            waited = time.monotonic() - began
            if waited > max_wait_s:
                raise PeersLost(f"after {waited:.0f} s not all have come")
            waiting(WaitStatus(waited, ()))
            try:
                more = connection.recv(65536)
            except TimeoutError:
                continue
            if not more:
                return None
            said += more
        answered_at = time.time()
        answer = _understood(said)
        if answer is None:
            return None  # an old life of worker 0 may still listen there, with its framework's own language
        if "refused" in answer:
            raise InvalidInputError(str(answer["refused"]))
        address = str(connection.getsockname()[0]).removeprefix("::ffff:")
        clock = _clock(asked_at, answer.get("clock"), answered_at)
        waited = time.monotonic() - began
        return RendezvousResult(tuple(answer["go"]), address, waited, answered_at, answer["agreed"], {0: connection}, clock)


def _clock(asked_at: float, there: list[float] | None, answered_at: float) -> Clock | None:
    """`there`: when worker 0 heard us, and when it answered, by its own clock."""
    if there is None:
        return None
    heard_at, sent_at = there
    ahead = ((asked_at - heard_at) + (answered_at - sent_at)) / 2
    return Clock(ahead, abs((answered_at - asked_at) - (sent_at - heard_at)) / 2)


# --- what both do ---


def find_difference(ours: Card, theirs: Card) -> str:
    """The first thing that is not the same, in words; empty: nothing."""
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            return f"{name} is {theirs.get(name)!r} there and {ours.get(name)!r} here"
    return ""


def _understood(said: bytes) -> Card | None:
    try:
        answer = json.loads(said.partition(b"\n")[0])
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and {"go", "refused"} & set(answer) else None


def _send(connection: socket.socket, plain: Card) -> None:
    try:
        connection.setblocking(True)
        connection.sendall(json.dumps(plain).encode() + b"\n")
    except OSError:
        return  # it is gone: whoever reads will notice


def _listed(numbers: tuple[int, ...]) -> str:
    return ("worker " if len(numbers) == 1 else "workers ") + ", ".join(str(number) for number in numbers)
