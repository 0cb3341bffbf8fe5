"""threads: what the kernel says of threads that really wait, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from unstall.journal.events import ThreadsSeen
from unstall.sensors import threads

PROGRAM = """
import os, socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
reader, writer = os.pipe()
waiting = [
    threading.Thread(target=client.recv, args=(1,), daemon=True),
    threading.Thread(target=os.read, args=(reader, 1), daemon=True),
    threading.Thread(target=threading.Event().wait, daemon=True),
    threading.Thread(target=threading.Event().wait, args=(600,), daemon=True),
    threading.Thread(target=time.sleep, args=(600,), daemon=True),
]
for thread in waiting:
    thread.start()
print(server.getsockname()[1], *(thread.native_id for thread in waiting), flush=True)
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def program() -> Iterator[tuple[int, list[int]]]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    numbers = [int(word) for word in process.stdout.readline().split()]
    yield process.pid, numbers
    process.kill()
    process.wait()


def by_id(seen: ThreadsSeen | None) -> dict[int, dict[str, object]]:
    assert seen is not None
    return {thread["id"]: thread for thread in seen.threads}


def settled(pid: int, waiting: list[int]) -> dict[int, dict[str, object]]:
    """A look once all these threads have begun to wait: on a busy machine that takes a while."""
    for _ in range(100):
        seen = by_id(threads.sample(pid))
        if all(str(seen.get(task, {}).get("call")) in ("recvfrom", "read", "futex") for task in waiting):
            return seen
        time.sleep(0.1)
    raise AssertionError(f"the threads never came to wait: {seen}")


def test_names_the_call_and_what_it_waits_on(program: tuple[int, list[int]]) -> None:
    pid, (port, recv, read, event, timed, sleeper) = program
    time.sleep(0.5)  # from the lock of the interpreter, also a futex, to the call itself
    seen = settled(pid, [recv, read, event])
    assert seen[recv]["call"] == "recvfrom"
    assert seen[recv]["on"] == f"a connection to 127.0.0.1:{port}"
    assert (seen[read]["call"], seen[read]["on"]) == ("read", "a pipe")
    assert seen[event]["call"] == "futex"
    assert [seen[task]["timed"] for task in (recv, read, event, timed, sleeper)] == [False, False, False, True, True]


def test_a_thread_that_waits_has_slept_and_one_that_wakes_has_not(program: tuple[int, list[int]]) -> None:
    pid, (_, recv, read, event, _, _) = program
    time.sleep(0.3)
    first = settled(pid, [recv, read, event])
    if first[pid]["asleep_s"] is None:
        pytest.skip("this kernel does not tell when a thread last ran (/proc/PID/sched)")
    time.sleep(2.0)
    seen = by_id(threads.sample(pid))
    assert float(str(seen[recv]["asleep_s"])) > 1.5
    assert seen[recv]["runs"] == first[recv]["runs"]
    assert int(str(seen[pid]["runs"])) > int(str(first[pid]["runs"]))


def test_nothing_of_a_process_that_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert threads.sample(process.pid) is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0100007F:1F90", "127.0.0.1:8080"),
        ("00000000000000000000000001000000:0050", "[::1]:80"),
        ("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, address: str) -> None:
    assert threads._address(text) == address


def test_a_thread_that_is_being_moved_to_another_core_has_just_been_woken() -> None:
    """Its time is 0 then, which is not the time since the machine was started."""
    assert threads.compute_asleep_s(3_600_000.0, 0.0) == 0.0
    assert threads.compute_asleep_s(3_600_000.0, 3_590_000.0) == 10.0
    assert threads.compute_asleep_s(3_600_000.0, None) is None
