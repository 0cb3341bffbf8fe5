"""What workers tell each other, over a table that threads share."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from unstall.training.distributed.collectives import PIECE_BYTES, Collectives, OthersLeft
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.heartbeat import Heartbeat


class Table:
    """A real channel, if not one between machines."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.lock = threading.Lock()

    def put(self, key: str, value: bytes) -> None:
        with self.lock:
            assert len(value) <= PIECE_BYTES
            self.values[key] = value

    def get(self, key: str) -> bytes | None:
        with self.lock:
            return self.values.get(key)

    def forget(self, key: str) -> None:
        with self.lock:
            self.values.pop(key, None)


def together(count: int, do: Callable[[Collectives], Any], table: Table | None = None) -> list[Any]:
    table = table or Table()
    all_collectives = [Collectives(ProcessEnv(worker, count, "here:1"), table) for worker in range(count)]
    with ThreadPoolExecutor(count) as pool:
        return [done.result(20) for done in [pool.submit(do, collectives) for collectives in all_collectives]]


def test_one_that_is_alone_asks_nobody() -> None:
    alone = Collectives(ProcessEnv())
    assert alone.is_alone and alone.is_first
    assert (alone.broadcast(lambda: {"x": 1}), alone.gather(b"own"), alone.all_gather(3)) == ({"x": 1}, [b"own"], [3])


def test_all_have_what_the_first_made_and_nobody_else_makes_it() -> None:
    made: list[int] = []

    def ask(collectives: Collectives) -> Any:
        def make() -> dict[str, Any]:
            made.append(collectives.who.rank)
            return {"by": collectives.who.rank, "none": None}

        return collectives.broadcast(make)

    assert together(3, ask) == [{"by": 0, "none": None}] * 3 and made == [0]


def test_what_each_has_comes_to_the_first_in_their_order_however_large() -> None:
    table, large = Table(), PIECE_BYTES * 2 + 7

    def give(collectives: Collectives) -> Any:
        return collectives.gather(bytes([collectives.who.rank]) * (large if collectives.who.rank == 2 else collectives.who.rank))

    first, *others = together(3, give, table)
    assert [len(each) for each in first] == [0, 1, large] and set(first[2]) == {2} and others == [None, None]
    assert not table.values, "large things are not kept"


def test_questions_in_the_same_order_are_not_confused() -> None:
    def ask(collectives: Collectives) -> Any:
        return collectives.all_gather(collectives.who.rank), collectives.broadcast(lambda: "then"), collectives.all_gather("x")

    assert together(2, ask) == [([0, 1], "then", ["x", "x"])] * 2


def test_whoever_waits_shows_that_it_lives_and_hears_that_another_left() -> None:
    table, beats = Table(), []
    waiting = Collectives(ProcessEnv(1, 2, "here:1"), table, lambda: beats.append(1))
    leaving = Collectives(ProcessEnv(0, 2, "here:1"), table)
    threading.Timer(0.1, leaving.announce_exit).start()
    with pytest.raises(OthersLeft, match="worker 0"):
        waiting.broadcast(lambda: None)
    assert len(beats) > 1


def test_others_part_when_the_first_has_saved() -> None:
    done: list[str] = []

    def exit_together(collectives: Collectives) -> None:
        if collectives.is_first:
            time.sleep(0.1)
            done.append("saved")
        collectives.exit_together()
        done.append("parted")

    together(3, exit_together)
    assert done == ["saved", "parted", "parted", "parted"]


def test_the_first_leaves_when_the_processes_of_the_others_have_ended() -> None:
    ours, theirs = socket.socketpair()
    first = Collectives(
        ProcessEnv(0, 2, "here:1"), Table(), heartbeat=Heartbeat(0, {1: ours}, lambda news: None, lambda: 1).start()
    )
    ended: list[float] = []

    def end() -> None:  # the kernel closes the connections of a process that ends
        ended.append(time.monotonic())
        theirs.close()

    threading.Timer(0.4, end).start()
    first.exit_together()
    first.exit_last(20.0)
    assert ended, "it left before the other"


def test_the_first_does_not_wait_for_one_that_does_not_end() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        heartbeat = Heartbeat(0, {1: ours}, lambda news: None, lambda: 1).start()
        Collectives(ProcessEnv(0, 2, "here:1"), Table(), heartbeat=heartbeat).exit_last(0.1)
        assert not heartbeat.wait_for_others(0.0)


def test_one_that_is_lost_is_not_waited_for_without_end() -> None:
    Collectives(ProcessEnv(1, 2, "here:1"), Table()).exit_together(max_s=0.1)
