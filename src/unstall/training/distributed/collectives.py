"""The workers of one run: what they tell each other beside the numbers of a step, and how they join.

All of them ask the same in the same order, so a counter is name enough for a topic. Whoever waits looks again and again rather
than being held: so it shows that it lives, hears a signal, and notices that another has left.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from unstall.backends.packages import find_version
from unstall.base.exit_codes import OTHERS_LOST
from unstall.base.processes import end_with_parent
from unstall.config.settings import Settings, apply_changes, as_plain
from unstall.journal.events import OthersLost, OthersMissed, WorkerJoined, WorkersAwaited
from unstall.probe import startup as probe_startup
from unstall.probe.core import probe
from unstall.training.distributed import rendezvous
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.heartbeat import Heartbeat, LostWorkers
from unstall.training.distributed.rendezvous import RendezvousResult, WaitStatus
from unstall.training.loop import instrumentation
from unstall.training.loop.instrumentation import print_message
from unstall.training.loop.interruption import PARTS_WITHIN_S, Interrupted, Interruption

PIECE_BYTES = 2**20  # of one message: what carries them refuses larger ones
FIRST_LOOK_S, LAST_LOOK_S = 0.01, 0.25
LEFT, PARTING = "left", "parting"


class Channel(Protocol):
    """What carries the messages: a table that all can see."""

    def put(self, key: str, value: bytes) -> None: ...

    def get(self, key: str) -> bytes | None:
        """None: it is not there yet."""

    def forget(self, key: str) -> None: ...


class OthersLeft(Exception):
    """Another worker was asked to end, and has said so: there is no use in waiting for it."""


class Collectives:
    def __init__(
        self,
        who: ProcessEnv,
        channel: Channel | None = None,
        alive: Callable[[], None] = lambda: None,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        """`alive` is called again and again while others are waited for; what it raises ends the waiting."""
        self.who, self.heartbeat = who, heartbeat
        self._channel, self._alive = channel, alive
        self._asked = 0

    @property
    def is_alone(self) -> bool:
        return self._channel is None

    @property
    def is_first(self) -> bool:
        return self.who.is_first

    def broadcast(self, made: Callable[[], Any]) -> Any:
        """What worker 0 makes, for all: plain data. It is made by worker 0 alone."""
        if self._channel is None:
            return made()
        key = self._next()
        if self.is_first:
            plain = made()
            self._put(key, json.dumps(plain).encode())
            return plain
        return json.loads(self._awaited(key))

    def gather(self, own: bytes) -> list[bytes] | None:
        """What each worker has, in their order, at worker 0; None at the others."""
        if self._channel is None:
            return [own]
        key = self._next()
        if not self.is_first:
            self._put(f"{key}/{self.who.rank}", own)
            return None
        others = [f"{key}/{worker}" for worker in range(1, self.who.world_size)]
        all_of_them = [own, *(self._awaited(other) for other in others)]
        for other in others:
            self._forget(other)
        return all_of_them

    def all_gather(self, plain: Any) -> list[Any]:
        """What each worker says, in their order, for all."""
        said = self.gather(json.dumps(plain).encode())
        return list(self.broadcast(lambda: [json.loads(each) for each in said or ()]))

    def announce_exit(self) -> None:
        """Before this worker ends at somebody's wish: the others need not find out by themselves."""
        if self._channel is None:
            return
        try:
            self._channel.put(LEFT, str(self.who.rank).encode())
        except (RuntimeError, ValueError, OSError):
            return  # what carried the messages is gone, and with it whoever would have read this one

    def exit_together(self, max_s: float = PARTS_WITHIN_S) -> None:
        """When all workers end at the same step: the others wait until worker 0 has saved, too. They do not wait longer than
        `max_s`, as worker 0 may be lost. Worker 0 itself then leaves by `exit_last`."""
        if self._channel is None:
            return
        until = time.monotonic() + max_s
        try:
            if self.is_first:
                self._channel.put(PARTING, b"")
            while self._channel.get(PARTING) is None and time.monotonic() < until:
                time.sleep(FIRST_LOOK_S)
        except (RuntimeError, ValueError, OSError):
            return  # what carried the messages is gone

    def exit_last(self, max_s: float = PARTS_WITHIN_S) -> None:
        """Worker 0 waits until the processes of the others have ended, because it hosts the service that the framework connects
        them by: a process that loses that connection is aborted by the framework. Returns after `max_s` at the latest."""
        if self.heartbeat is not None and self.is_first:
            self.heartbeat.wait_for_others(max_s)

    # --- messages ---

    def _next(self) -> str:
        self._asked += 1
        return f"{self._asked}"

    def _put(self, key: str, value: bytes) -> None:
        """In pieces; how many there are comes last."""
        assert self._channel is not None
        pieces = range(0, len(value), PIECE_BYTES)
        for number, first in enumerate(pieces):
            self._channel.put(f"{key}.{number}", value[first : first + PIECE_BYTES])
        self._channel.put(f"{key}.count", str(len(pieces)).encode())

    def _awaited(self, key: str) -> bytes:
        count = int(self._get(f"{key}.count"))
        return b"".join(self._get(f"{key}.{number}") for number in range(count))

    def _get(self, key: str) -> bytes:
        assert self._channel is not None
        pause_s = FIRST_LOOK_S
        while (value := self._channel.get(key)) is None:
            self._alive()
            if (left := self._channel.get(LEFT)) is not None:
                raise OthersLeft(f"worker {left.decode()} has left")
            time.sleep(pause_s)
            pause_s = min(LAST_LOOK_S, 2 * pause_s)
        return value

    def _forget(self, key: str) -> None:
        """What may be large is not kept by whoever carries it."""
        assert self._channel is not None
        for number in range(int(self._channel.get(f"{key}.count") or 0)):
            self._channel.forget(f"{key}.{number}")
        self._channel.forget(f"{key}.count")


# How a worker joins the others of its run, if it has any: they meet, then the backend takes over.


REPORT_INTERVAL_S = 5.0
SAY_AFTER_S = 20.0
# What may be another on each machine: where things lie, and how they are read and kept.
OWN_SETTINGS = (
    "data", "label_map", "val_data", "weights", "cache_dir", "num_input_workers", "prefetch_bytes", "cache_bytes", "tensorboard",
    "checkpoint_interval_s", "checkpoint_interval_steps", "max_checkpoints", "max_restarts",
)  # fmt: skip


def join_workers(who: ProcessEnv, settings: Settings, interruption: Interruption) -> tuple[Collectives, Settings]:
    """And the settings that all have agreed on. In the main thread, before the backend starts."""
    if who.is_alone:
        return Collectives(who), settings
    end_with_parent()
    load_backend()
    met = rendezvous.meet(who, build_agreement(settings), agree_on_settings, WaitReporter(who))
    watched = SilenceReporter(who, met)
    heartbeat = Heartbeat(who.rank, met.connections, watched, instrumentation.count_steps_done).start()
    channel = join_backend(who, met)
    watched.is_joining = False
    interruption.reinstall_handlers()
    event = WorkerJoined(
        at=time.time(),
        worker=who.rank,
        of=who.world_size,
        host=socket.gethostname(),
        pid=os.getpid(),
        coordinator=who.coordinator,
        seconds=met.seconds,
        met_at=met.at,
        ahead_s=met.clock.ahead_s if met.clock else None,
        ahead_error_s=met.clock.error_s if met.clock else 0.0,
    )
    instrumentation.emit(event)

    def alive() -> None:
        instrumentation.report_alive()
        if interruption.is_requested:
            raise Interrupted

    return Collectives(who, channel, alive, heartbeat), apply_changes(settings, met.agreed)


class SilenceReporter:
    """Tells whoever is not heard any more."""

    def __init__(self, who: ProcessEnv, met: RendezvousResult) -> None:
        self._who, self._met = who, met
        self.is_joining = True

    def __call__(self, news: LostWorkers) -> None:
        who, hosts = self._who, [self._met.hosts[worker] for worker in news.silent]
        silent, gone = list(news.silent), list(news.gone)
        event = OthersMissed(
            at=time.time(), worker=who.rank, of=who.world_size, silent=silent, gone=gone, hosts=hosts, seconds=news.seconds,
            step=instrumentation.count_steps_done(), unreached=list(news.unreached),
        )  # fmt: skip
        instrumentation.emit(event)
        if news.gone and self.is_joining:
            self._leave(gone)

    def _leave(self, gone: list[int]) -> None:
        """One that has met us and is gone will not join: the framework would wait for it for a minute, below Python. Nothing was
        computed yet that could be lost."""
        error = f"worker {gone[0]} ended before all had joined"
        instrumentation.emit(OthersLost(at=time.time(), worker=self._who.rank, of=self._who.world_size, error=error, gone=gone))
        print_message(f"unstall: [worker {self._who.rank}] {error}")
        current = probe.get_current()
        if current is not None:
            probe_startup.end(current)
        os._exit(OTHERS_LOST)


def build_agreement(settings: Settings) -> dict[str, Any]:
    """What must be the same for all, or they would not compute the same program; and the settings that this one has."""
    versions = {f"version of {name}": version for name, version in read_same_versions().items()}
    return {"same": versions, "settings": as_plain(settings)}


def agree_on_settings(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings for all: those of worker 0, where plans may have changed them, but for what is each machine's own. No worker
    computes more images at once than any other can."""
    settings = {name: value for name, value in cards[0]["settings"].items() if name not in OWN_SETTINGS}
    sizes = [each["settings"]["micro_batch_size"] for each in cards if each["settings"]["micro_batch_size"]]
    return {**settings, "micro_batch_size": min(sizes, default=None)}


class WaitReporter:
    """Tells now and then who is waited for."""

    def __init__(self, who: ProcessEnv) -> None:
        self._who, self._reported_at, self._has_said = who, 0.0, False

    def __call__(self, awaited: WaitStatus) -> None:
        if awaited.seconds - self._reported_at < REPORT_INTERVAL_S:
            return
        self._reported_at = awaited.seconds
        who, missing = self._who, list(awaited.missing)
        event = WorkersAwaited(
            at=time.time(),
            worker=who.rank,
            of=who.world_size,
            missing=missing,
            coordinator=who.coordinator,
            why=awaited.why,
            seconds=awaited.seconds,
        )
        instrumentation.emit(event)
        if awaited.seconds >= SAY_AFTER_S and missing and not self._has_said:
            self._has_said = True
            waited = f"worker {who.rank} has waited {awaited.seconds:.0f} s at {who.coordinator} for"
            numbers = ", ".join(str(number) for number in missing)
            print_message(f"unstall: {waited} worker {numbers} of {who.world_size}. {awaited.why}".rstrip())


# Several processes on one backend: which can, how they join, and whether an error says that others are gone.


SAME_PACKAGES = ("unstall", "keras", "jax", "jaxlib", "numpy")  # by which the same program is compiled
LOST_ERRORS = (RuntimeError, ValueError)  # what such an error may be: JAX raises either
# How libraries below the backend say that another process is gone, or cannot be reached any more.
LOST_WORDS = (
    "gloo", "nccl", "connection closed by peer", "connection reset", "coordination service", "coordination_service",
    "unhealthy", "heartbeat", "socket closed", "failed to connect to all addresses",
)  # fmt: skip


def read_same_versions() -> dict[str, str]:
    """Of all that processes must have the same of, or they would not compute the same program."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{package: find_version(package) for package in SAME_PACKAGES}}


def load_backend() -> None:
    """What `join` needs. It may take long on a machine that has much to do, so that it is done before they meet: who has met
    waits for nobody any more."""
    from unstall.training.distributed import backend_jax  # noqa: F401


def join_backend(who: ProcessEnv, met: RendezvousResult) -> Channel:
    """After they have met, before anything is computed."""
    from unstall.training.distributed import backend_jax

    return backend_jax.join(who, met)


def leave_backend() -> None:
    """When all are done."""
    from unstall.training.distributed import backend_jax

    backend_jax.leave()


def are_others_lost(error: BaseException) -> bool:
    """Whether it says so; of an error that a backend raised in a process that shares its steps."""
    text = str(error).lower()
    return any(words in text for words in LOST_WORDS)
