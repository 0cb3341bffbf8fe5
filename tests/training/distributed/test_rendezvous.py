"""Workers meet, in threads that stand for processes: who is missing is known, and who does not belong is refused."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from typing import Any

import pytest

from unstall.base.errors import InvalidInputError
from unstall.training.distributed.collectives import AddressTaken, PeersLost
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.engines.local import find_free_port
from unstall.training.distributed.rendezvous import RendezvousResult, WaitStatus, find_difference, meet

CARD: dict[str, Any] = {"same": {"version of jax": "0.10.2"}, "wishes": 8}


def least(cards: list[dict[str, Any]]) -> dict[str, Any]:
    return {"wishes": min(card["wishes"] for card in cards)}


class Worker(threading.Thread):
    def __init__(self, worker: int, of: int, port: int, card: dict[str, Any] | None = None, max_wait_s: float = 10.0) -> None:
        super().__init__(daemon=True)
        self.who = ProcessEnv(worker, of, f"127.0.0.1:{port}")
        self.card = card or CARD
        self.max_wait_s = max_wait_s
        self.awaited: list[WaitStatus] = []
        self.met: RendezvousResult | None = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.met = meet(self.who, self.card, least, self.awaited.append, self.max_wait_s)
        except (InvalidInputError, AddressTaken, PeersLost) as error:
            self.error = error

    def ended(self) -> Worker:
        self.join(20)
        assert not self.is_alive()
        return self


@pytest.fixture
def port() -> int:
    return find_free_port()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_all_meet_whoever_comes_first(port: int, order: tuple[int, ...]) -> None:
    workers = []
    for worker in order:
        workers.append(Worker(worker, 3, port))
        time.sleep(0.05)
    met = [worker.ended().met for worker in workers]
    assert all(each is not None and each.hosts == (socket.gethostname(),) * 3 and each.address == "127.0.0.1" for each in met)


def test_worker_0_knows_who_is_missing_and_says_so_at_the_end(port: int) -> None:
    first, second = Worker(0, 4, port, max_wait_s=0.6), Worker(2, 4, port, max_wait_s=1.5)
    assert first.ended().awaited[-1].missing == (1, 3)
    assert isinstance(first.error, PeersLost) and "workers 1, 3 of 4" in str(first.error)
    assert isinstance(second.ended().error, PeersLost)


def test_one_who_cannot_reach_worker_0_says_why(port: int) -> None:
    lonely = Worker(1, 2, port, max_wait_s=0.5).ended()
    assert isinstance(lonely.error, PeersLost) and "Connection refused" in str(lonely.error)
    assert lonely.awaited[-1].missing == (0,)


def test_one_that_dies_while_it_waits_is_waited_for_again(port: int) -> None:
    first = Worker(0, 2, port)
    time.sleep(0.1)
    with socket.create_connection(("127.0.0.1", port)) as dying:
        dying.sendall(b'{"worker": 1, "of": 2, "host": "here", "pid": 1, "card"')
    second = Worker(1, 2, port)
    assert first.ended().met is not None and second.ended().met is not None


def test_a_visitor_that_speaks_something_else_is_let_go(port: int) -> None:
    first = Worker(0, 2, port)
    time.sleep(0.1)
    with socket.create_connection(("127.0.0.1", port)) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert visitor.recv(10) == b""
    assert Worker(1, 2, port).ended().met is not None and first.ended().met is not None


def test_whoever_differs_is_refused_by_all_with_what_differs(port: int) -> None:
    workers = Worker(0, 2, port), Worker(1, 2, port, {**CARD, "same": {"version of jax": "0.9.0"}})
    for worker in workers:
        assert isinstance(worker.ended().error, InvalidInputError)
        assert "version of jax is '0.9.0' there and '0.10.2' here" in str(worker.error)


def test_all_agree_on_what_the_first_makes_of_all_wishes(port: int) -> None:
    workers = [Worker(0, 3, port), Worker(1, 3, port, {**CARD, "wishes": 4}), Worker(2, 3, port)]
    met = [worker.ended().met for worker in workers]
    assert [each.agreed for each in met if each is not None] == [{"wishes": 4}] * 3


def test_the_next_life_of_a_worker_takes_the_place_of_one_whose_end_was_lost_with_the_line(port: int) -> None:
    """Both were started by the same supervisor, so that the first must be dead."""
    first = Worker(0, 3, port)
    held = send_hello(port, 1, started_by=os.getppid())
    time.sleep(0.2)
    second = Worker(1, 3, port)
    assert held.recv(1) == b"", "it is let go"
    workers = (first, second, Worker(2, 3, port))
    met = [worker.ended().met for worker in workers]
    assert all(each is not None for each in met), [worker.error for worker in workers]


def test_two_of_one_number_that_somebody_else_has_started_are_refused(port: int) -> None:
    first = Worker(0, 3, port)
    held = send_hello(port, 1, started_by=1)
    time.sleep(0.2)
    second = Worker(1, 3, port)
    assert isinstance(first.ended().error, InvalidInputError) and isinstance(second.ended().error, InvalidInputError)
    assert "is there twice: also as process 1 on" in str(first.error)
    held.close()


def send_hello(port: int, worker: int, **more: Any) -> socket.socket:
    """A worker that has come, and of which nothing is heard any more."""
    for _ in range(100):
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    hello = {"worker": worker, "of": 3, "host": socket.gethostname(), "pid": 1, "card": CARD, **more}
    connection.sendall(json.dumps(hello).encode() + b"\n")
    return connection


def test_they_know_how_far_their_clocks_are_apart_and_how_well(port: int) -> None:
    first, second = Worker(0, 2, port), Worker(1, 2, port)
    assert first.ended().met is not None and first.met.clock is None
    met = second.ended().met
    clock = met.clock if met is not None else None
    assert clock is not None and abs(clock.ahead_s) <= clock.error_s + 0.001 and clock.error_s < 10.0


def test_connections_stay_for_whoever_wants_to_hear_of_the_others(port: int) -> None:
    first, second = Worker(0, 2, port).ended, Worker(1, 2, port)
    met = second.ended().met, first().met
    assert met[0] is not None and met[1] is not None
    met[0].connections[0].sendall(b"x")
    met[1].connections[1].setblocking(True)
    assert met[1].connections[1].recv(1) == b"x"


def test_one_of_another_number_of_workers_is_refused(port: int) -> None:
    first, other = Worker(0, 3, port), Worker(1, 2, port)
    assert isinstance(other.ended().error, InvalidInputError) and "is one of 2" in str(other.error)
    assert isinstance(first.ended().error, InvalidInputError)


def test_a_port_that_is_taken_is_told_from_other_mistakes(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        assert isinstance(Worker(0, 2, port).ended().error, AddressTaken)


def test_whoever_answers_in_another_language_is_not_worker_0_yet(port: int) -> None:
    """As the framework of its old life does, for a moment."""
    with socket.create_server(("127.0.0.1", port)) as old:
        second = Worker(1, 2, port)
        connection, _ = old.accept()
        with connection:
            connection.sendall(b"\x00\x00\x12\x04\x00\n\xff")
    assert Worker(0, 2, port).ended().met is not None and second.ended().met is not None


def test_a_port_is_free_again_for_the_next_life(port: int) -> None:
    for _ in range(3):
        first, second = Worker(0, 2, port), Worker(1, 2, port)
        assert first.ended().met is not None and second.ended().met is not None


def test_nothing_differs_between_equals() -> None:
    assert find_difference(CARD["same"], dict(CARD["same"])) == ""
