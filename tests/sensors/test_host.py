"""What is seen of a process tree from outside: whether it was stopped meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from unstall.sensors import host
from unstall.sensors.host import WINDOWS, HostSampler, MemoryLooks, read_resident_bytes


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as started:
        yield started
        started.kill()


def wait_for(pid: int, state: str) -> None:
    while psutil.Process(pid).status() != state:
        pass


def test_the_share_of_looks_in_which_it_was_stopped_since_the_sample_before(process: subprocess.Popen[bytes]) -> None:
    sampler = HostSampler(process.pid)
    running = sampler.sample()
    os.kill(process.pid, signal.SIGSTOP)
    wait_for(process.pid, psutil.STATUS_STOPPED)
    sampler.update_totals()
    sampler.update_totals()
    os.kill(process.pid, signal.SIGCONT)
    wait_for(process.pid, psutil.STATUS_SLEEPING)
    sampler.update_totals()
    mixed, after = sampler.sample(), sampler.sample()
    assert [each and each.stopped_share for each in (running, mixed, after)] == [0.0, 0.5, 0.0]


# The memory of a real process, looked at many times a second.


MIB = 2**20
# Holds 80 MiB for a moment, again and again, and says when it has done so a few times.
SAWTOOTH = """
import time
for _ in range(6):
    held = bytearray(80 << 20)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(0.1)
    del held
    time.sleep(0.1)
print("done", flush=True)
input()
"""


def test_the_fullest_moments_are_seen_and_each_part_of_the_time_has_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", SAWTOOTH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        looks = MemoryLooks(program.pid, lambda: [])
        assert program.stdout is not None
        program.stdout.readline()
        most, base = looks.most(), read_resident_bytes(program.pid)
        assert 0 < len(most) <= WINDOWS
        assert max(most) > base + 60 * MIB
        assert looks.most() == [] or max(looks.most(), default=0) < base + 60 * MIB, "what was told is not told again"
        program.kill()


def test_it_ends_with_the_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        looks = MemoryLooks(program.pid, lambda: [])
        program.kill()
    until = time.monotonic() + 240
    while looks.is_looking and time.monotonic() < until:
        time.sleep(0.02)
    assert not looks.is_looking
    assert read_resident_bytes(program.pid) == 0


MS = 1_000_000


def test_a_thread_that_works_queues_and_one_that_only_wakes_to_look_does_not() -> None:
    before = {1: (0, 0, 0), 2: (0, 0, 0), 3: (0, 0, 0)}
    works = (300 * MS, 2700 * MS, 100)  # 3 ms at each turn
    wakes = (1 * MS, 2700 * MS, 60)  # a sixtieth of a millisecond
    waits = (0, 0, 0)  # it was not put on a CPU
    assert host._queued(before, {1: works, 2: waits}, 3.0) == pytest.approx(0.9)
    assert host._queued(before, {2: wakes, 3: waits}, 3.0) == 0.0
    assert host._queued(before, {1: works, 2: wakes}, 3.0) == pytest.approx(0.9)


def test_a_thread_that_is_new_has_not_queued_yet() -> None:
    assert host._queued({}, {1: (300 * MS, 2700 * MS, 100)}, 3.0) == 0.0
    assert host._queued({}, {}, 0.0) == 0.0
