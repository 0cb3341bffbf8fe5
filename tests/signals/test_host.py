"""What is seen of a process tree from outside: whether it was stopped meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from unstall.signals.host import HostSampler


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
    sampler.glance()
    sampler.glance()
    os.kill(process.pid, signal.SIGCONT)
    wait_for(process.pid, psutil.STATUS_SLEEPING)
    sampler.glance()
    mixed, after = sampler.sample(), sampler.sample()
    assert [each and each.stopped_share for each in (running, mixed, after)] == [0.0, 0.5, 0.0]
