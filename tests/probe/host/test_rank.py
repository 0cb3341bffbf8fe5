"""A program that joins others tells which worker it is before the call that joins, which may wait for ever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import UNSTALL, write
from unstall.journal.events import MembershipSeen
from unstall.journal.reader import read_stream

TORCH = """
import datetime, torch.distributed as dist
try:
    dist.init_process_group("gloo", "tcp://127.0.0.1:1", datetime.timedelta(seconds=1), 2, rank=1)
except Exception as error:
    print("caught", type(error).__name__)
"""
JAX = """
import jax
jax.distributed.initialize("127.0.0.1:1", 3, process_id=2, initialization_timeout=1)
"""


def ranks_of(own_home: Path, tmp_path: Path, source: str) -> tuple[list[tuple[str, int | None, int | None, str]], str]:
    """As the program itself told it, and what it printed."""
    program = write(tmp_path, source)
    done = subprocess.run(
        [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    (run,) = own_home.iterdir()
    events = [event for event in read_stream(run) if isinstance(event, MembershipSeen)]
    return [(event.source, event.worker, event.of, event.coordinator) for event in events], done.stdout


@pytest.mark.torch
def test_what_is_said_to_torch(own_home: Path, tmp_path: Path) -> None:
    found, printed = ranks_of(own_home, tmp_path, TORCH)
    assert found == [("torch.distributed", 1, 2, "127.0.0.1:1")]
    assert printed.startswith("caught Dist")  # its own error, as without us


@pytest.mark.jax
def test_what_is_said_to_jax(own_home: Path, tmp_path: Path) -> None:
    found, _ = ranks_of(own_home, tmp_path, JAX)
    assert found == [("jax.distributed", 2, 3, "127.0.0.1:1")]
