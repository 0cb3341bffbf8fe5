"""The workers of one run: what they tell each other beside the numbers of a step. How they join: `startup.py`.

All of them ask the same in the same order, so a counter is name enough for a topic. Whoever waits looks again and again rather
than being held: so it shows that it lives, hears a signal, and notices that another has left.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from unstall.training.distributed.engines import ProcessEnv
from unstall.training.loop.interruption import PARTS_WITHIN_S

if TYPE_CHECKING:
    from unstall.training.distributed.heartbeat import Heartbeat

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


class PeersLost(Exception):
    """The others did not come, or have gone."""


class AddressTaken(Exception):
    """Somebody else listens at the coordinator's port."""


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


# Whether an error says that other workers are gone.


LOST_ERRORS = (RuntimeError, ValueError)  # what such an error may be: JAX raises either
# How libraries below the backend say that another process is gone, or cannot be reached any more.
LOST_WORDS = (
    "gloo", "nccl", "connection closed by peer", "connection reset", "coordination service", "coordination_service",
    "unhealthy", "heartbeat", "socket closed", "failed to connect to all addresses",
)  # fmt: skip


def are_others_lost(error: BaseException) -> bool:
    """Whether it says so; of an error that a backend raised in a process that shares its steps."""
    text = str(error).lower()
    return any(words in text for words in LOST_WORDS)
