"""The faults of benchmarks/recovery: real ones, done to a real training from outside, with nothing in it that knows of them."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from unstall.runs import RunFolder

GROUPS = Path("/sys/fs/cgroup/memory")  # version 1
GROUP_BYTES = 2**20  # that a worker may still have
FILLED_S = 3.0  # that a disk stays full


@dataclass(frozen=True)
class Target:
    """A training under supervision."""

    run: RunFolder
    supervisor: subprocess.Popen[bytes]
    worker_pid: int
    images: Path
    chance: random.Random


@dataclass(frozen=True)
class FaultKind:
    do: Callable[[Target], None]
    ends_supervisor: bool = False  # the run must then be started again by whoever runs it
    is_exact: bool = True  # the final weights are those of the undisturbed run, bit by bit
    needs_root: bool = False
    restarts: bool = True  # the worker ends of it, and another takes over
    settings: Mapping[str, Any] = field(default_factory=dict)  # that bring it about by themselves: nothing is done from outside


# --- ends from outside ---


def kill(target: Target) -> None:
    os.kill(target.worker_pid, signal.SIGKILL)


def terminate(target: Target) -> None:
    target.supervisor.send_signal(signal.SIGTERM)


def interrupt(target: Target) -> None:
    target.supervisor.send_signal(signal.SIGINT)


def terminate_worker(target: Target) -> None:
    os.kill(target.worker_pid, signal.SIGTERM)


def cut_power(target: Target) -> None:
    """Supervisor and worker are gone at once, as when a machine loses its power."""
    target.supervisor.send_signal(signal.SIGKILL)
    os.kill(target.worker_pid, signal.SIGKILL)


def crash(target: Target) -> None:
    """As native code does when it reads where it must not."""
    os.kill(target.worker_pid, signal.SIGSEGV)


def stop(target: Target) -> None:
    """It stands still."""
    os.kill(target.worker_pid, signal.SIGSTOP)


# --- checkpoints and the disk ---


def spoil_checkpoint(target: Target) -> None:
    """One byte of the newest one is another, then the worker is killed."""
    newest = _newest(target)
    if newest is not None:
        path = newest / "arrays.bin"
        place = target.chance.randrange(path.stat().st_size)
        with path.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 0xFF]))
    kill(target)


def tear_checkpoint(target: Target) -> None:
    """The newest one is cut short, as after a power cut on a disk that lies, then the worker is killed."""
    newest = _newest(target)
    if newest is not None:
        path = newest / target.chance.choice(["arrays.bin", "position.json", "manifest.json"])
        os.truncate(path, target.chance.randrange(path.stat().st_size))
    kill(target)


def fill_disk(target: Target) -> None:
    """The disk of the checkpoints is full for a while; then the worker is killed, and there is room again."""
    filler = target.run.checkpoints_path / ".filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(2**20))
    time.sleep(FILLED_S)
    kill(target)
    filler.unlink(missing_ok=True)


def _newest(target: Target) -> Path | None:
    return max(target.run.checkpoints_path.glob("step-*"), default=None)


# --- memory ---


def refuse_memory(target: Target) -> None:
    """The worker may not have more address space than it has: the next larger request is refused, whoever makes it."""
    held = psutil.Process(target.worker_pid).memory_info().vms
    resource.prlimit(target.worker_pid, resource.RLIMIT_AS, (held, held))


def kill_for_memory(target: Target) -> None:
    """A control group with next to no memory: the kernel kills the worker when it asks for more."""
    group = GROUPS / f"unstall-recovery-{os.getpid()}"
    group.mkdir(exist_ok=True)
    (group / "memory.limit_in_bytes").write_text(str(GROUP_BYTES))
    (group / "cgroup.procs").write_text(str(target.worker_pid))  # what it holds stays with its old group
    deadline = time.monotonic() + 60
    while psutil.pid_exists(target.worker_pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    with contextlib.suppress(OSError):
        group.rmdir()


# --- data ---


def spoil_image(target: Target) -> None:
    """An image that is still to be read is cut off."""
    path = target.chance.choice(sorted(target.images.rglob("*.jpg")) or sorted(target.images.rglob("*.png")))
    os.truncate(path, path.stat().st_size // 2)


def block_image(target: Target) -> None:
    """An image becomes a pipe into which nobody writes: whoever reads it waits for ever."""
    path = target.chance.choice(sorted(target.images.rglob("*.jpg")) or sorted(target.images.rglob("*.png")))
    path.unlink()
    os.mkfifo(path)


# --- numbers ---


def nothing(target: Target) -> None:
    """The rate is wrong enough."""


KINDS: dict[str, FaultKind] = {
    "kill": FaultKind(kill),
    "crash": FaultKind(crash),
    "terminate": FaultKind(terminate, ends_supervisor=True),
    "interrupt": FaultKind(interrupt, ends_supervisor=True),
    "terminate_worker": FaultKind(terminate_worker),
    "cut_power": FaultKind(cut_power, ends_supervisor=True),
    "stop": FaultKind(stop),
    "spoil_checkpoint": FaultKind(spoil_checkpoint),
    "tear_checkpoint": FaultKind(tear_checkpoint),
    "fill_disk": FaultKind(fill_disk, needs_root=True),
    "refuse_memory": FaultKind(refuse_memory, is_exact=False),
    "kill_for_memory": FaultKind(kill_for_memory, is_exact=False, needs_root=True),
    "spoil_image": FaultKind(spoil_image, is_exact=False, restarts=False),
    "block_image": FaultKind(block_image, is_exact=False, restarts=False),
    "explode": FaultKind(nothing, is_exact=False, settings={"rate": 1.0, "clip_norm": 0.0, "warm_up_steps": 0}),
    "diverge": FaultKind(nothing, is_exact=False, settings={"rate": 0.3, "clip_norm": 0.0, "warm_up_steps": 200}),
}
