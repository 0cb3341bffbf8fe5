"""Workers hear each other, in threads that stand for processes: who falls silent while nothing moves is told, and who is gone."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from unstall.training.distributed import heartbeat
from unstall.training.distributed.heartbeat import Heartbeat, LostWorkers, compute_unanswered_s

SILENT_S = 1.2


@pytest.fixture(autouse=True)
def times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "SAY_EVERY_S", 0.05)
    monkeypatch.setattr(heartbeat, "SILENT_S", SILENT_S)
    monkeypatch.setattr(heartbeat, "UNREACHED_S", SILENT_S)


class HeartbeatGroup:
    """Three workers; those that are mute are there, and say nothing."""

    def __init__(self, mute: tuple[int, ...] = (), steps: Callable[[], int] = lambda: 10) -> None:
        self.lines = {number: socket.socketpair() for number in (1, 2)}
        self.reported: dict[int, list[LostWorkers]] = {0: [], 1: [], 2: []}
        gather = {number: ends[0] for number, ends in self.lines.items()}
        self.workers = {0: Heartbeat(0, gather, self.reported[0].append, steps)}
        for number, ends in self.lines.items():
            self.workers[number] = Heartbeat(number, {0: ends[1]}, self.reported[number].append, steps)
        for number, worker in self.workers.items():
            if number not in mute:
                worker.start()

    def ends(self, number: int) -> None:
        """Its process: the kernel closes its connections."""
        with suppress(OSError):  # it has ended already
            self.lines[number][1].shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for number in self.lines:
            self.ends(number)


@pytest.fixture
def worker_group() -> Iterator[Callable[..., HeartbeatGroup]]:
    made: list[HeartbeatGroup] = []

    def make(*arguments: object, **named: object) -> HeartbeatGroup:
        made.append(HeartbeatGroup(*arguments, **named))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_nothing_is_told_of_workers_that_live_however_long_no_step_is_made(worker_group: Callable[..., HeartbeatGroup]) -> None:
    all_of_them = worker_group()
    time.sleep(2 * SILENT_S)
    assert all_of_them.reported == {0: [], 1: [], 2: []}


def test_one_that_falls_silent_is_told_by_the_first_and_by_those_that_only_hear_the_first(
    worker_group: Callable[..., HeartbeatGroup],
) -> None:
    all_of_them = worker_group(mute=(2,))
    wait_until(lambda: bool(all_of_them.reported[0] and all_of_them.reported[1]))
    first, other = all_of_them.reported[0][0], all_of_them.reported[1][0]
    assert (first.silent, first.gone) == ((2,), ()) and first.seconds >= SILENT_S
    assert (other.silent, other.gone) == ((2,), ())
    all_of_them.workers[2].start()
    wait_until(lambda: len(all_of_them.reported[0]) == 2 and len(all_of_them.reported[1]) == 2)
    assert all_of_them.reported[0][1] == all_of_them.reported[1][1] == LostWorkers(), "they are heard again"


def test_a_first_worker_that_is_silent_is_told_by_each_of_the_others(worker_group: Callable[..., HeartbeatGroup]) -> None:
    all_of_them = worker_group(mute=(0,))
    wait_until(lambda: bool(all_of_them.reported[1] and all_of_them.reported[2]))
    assert all_of_them.reported[1][0].silent == all_of_them.reported[2][0].silent == (0,)


def test_nobody_is_silent_while_steps_are_made(worker_group: Callable[..., HeartbeatGroup]) -> None:
    """All take part in each: a thread that gets no turn on a crowded machine says nothing of its worker."""
    made = iter(range(10, 1_000_000))
    all_of_them = worker_group(mute=(2,), steps=lambda: next(made))
    time.sleep(2 * SILENT_S)
    assert not all_of_them.reported[0]


def test_more_time_is_given_before_the_first_steps_unless_the_machine_does_not_answer_either(
    worker_group: Callable[..., HeartbeatGroup], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compilation may keep a process from its word for long; its machine acknowledges ours all the same."""
    all_of_them = worker_group(mute=(2,), steps=lambda: 0)
    time.sleep(2 * SILENT_S)
    assert not all_of_them.reported[0]
    monkeypatch.setattr(heartbeat, "compute_unanswered_s", lambda connection: 2 * SILENT_S)
    wait_until(lambda: bool(all_of_them.reported[0] and all_of_them.reported[1]))
    assert all_of_them.reported[0][0].silent == all_of_them.reported[0][0].unreached == (2,)
    assert all_of_them.reported[1][0].unreached == (2,), "the others are told"


def test_what_a_machine_has_acknowledged_is_known_by_its_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as connection:
        connection.sendall(b"x")
        time.sleep(0.3)
        waited = compute_unanswered_s(connection)
        connection.sendall(b"x")
        wait_until(lambda: compute_unanswered_s(connection) < waited)
        assert 0.2 <= waited < 10.0
    assert compute_unanswered_s(connection) == 0.0, "it is not known any more"


def test_whoever_was_kept_from_running_itself_says_nothing_of_others(
    worker_group: Callable[..., HeartbeatGroup], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "OWN_PAUSE_S", 0.01)  # each round is a pause
    all_of_them = worker_group(mute=(2,))
    time.sleep(2 * SILENT_S)
    assert not all_of_them.reported[0]


def test_one_whose_process_ends_is_told_as_gone_to_all_and_not_as_silent(worker_group: Callable[..., HeartbeatGroup]) -> None:
    all_of_them = worker_group()
    all_of_them.ends(2)
    wait_until(lambda: bool(all_of_them.reported[0] and all_of_them.reported[1]))
    time.sleep(1.5 * SILENT_S)
    assert [(news.silent, news.gone) for news in all_of_them.reported[0]] == [((), (2,))]
    assert [(news.silent, news.gone) for news in all_of_them.reported[1]] == [((), (2,))]
    assert all_of_them.workers[1].newest(0.0).gone == (2,)


def test_words_that_are_none_of_ours_are_passed_over(worker_group: Callable[..., HeartbeatGroup]) -> None:
    all_of_them = worker_group()
    for words in (b"\n", b"[]\n", b'{"silent": 3}\n', b"\xff" * 100_000 + b"\n"):
        all_of_them.lines[1][0].send(words)
    time.sleep(0.2)
    all_of_them.ends(2)
    wait_until(lambda: bool(all_of_them.reported[1]))
    assert all_of_them.reported[1][0].gone == (2,)
