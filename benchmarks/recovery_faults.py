"""The faults of benchmarks/recovery: real ones, done to a real training from outside, with nothing in it that knows of them."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.recovery_means import MemoryGroup, SlowFolder
from unstall.journal.run_folder import RunFolder

GROUP_BYTES = 2**20  # that a worker may still have
FULL_S = 60.0  # that memory stays nearly full
FILLED_S = 3.0  # that a disk stays full
NEARLY_FULL = 0.97  # of the limit that is in use
LITTLE_PREFETCH = {"prefetch_bytes": 2**20}  # else the images of all epochs are read before anything can befall them
OPENS_IN_S = 0.4  # an image on the slow storage; a step takes eight


@dataclass(frozen=True)
class Target:
    """A training under supervision."""

    run: RunFolder
    supervisor: subprocess.Popen[bytes]
    worker_pid: int
    images: Path
    rng: random.Random
    until_end: ExitStack  # what stays until the run is over
    group: MemoryGroup | None = None  # that it was started in; only where a kind needs one


@dataclass(frozen=True)
class FaultKind:
    do: Callable[[Target], None]
    ends_supervisor: bool = False  # the run must then be started again by whoever runs it
    is_exact: bool = True  # the final weights are those of the undisturbed run, bit by bit
    needs_root: bool = False
    needs_group: bool = False  # the run is started in a memory control group of its own
    is_alone: bool = False  # the only one of its run
    before_first_step: bool = False  # done when the worker is about to make it
    may_lose: int | None = 1  # intervals of checkpoints; None: it goes back to where the numbers were still good
    restarts: bool = True  # the worker ends of it, and another takes over
    run_with: Mapping[str, Any] = field(default_factory=dict)  # settings of the run that change none of its numbers
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
        place = target.rng.randrange(path.stat().st_size)
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
        path = newest / target.rng.choice(["arrays.bin", "position.json", "manifest.json"])
        os.truncate(path, target.rng.randrange(path.stat().st_size))
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
    group = MemoryGroup()
    group.limit(GROUP_BYTES)
    group.add(target.worker_pid)  # what it holds stays with its old group
    deadline = time.monotonic() + 60
    while psutil.pid_exists(target.worker_pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    group.remove()


def nearly_fill_memory(target: Target) -> None:
    """The limit of the group that the run was started in comes down to just above what it uses, and stays there for a while."""
    group = target.group
    assert group is not None
    group.limit(int(group.used() / NEARLY_FULL))
    lift = threading.Timer(FULL_S, group.limit, (None,))
    target.until_end.callback(lift.cancel)
    lift.start()


# --- data ---


def spoil_image(target: Target) -> None:
    """An image that is still to be read is cut off."""
    path = _an_image(target)
    os.truncate(path, path.stat().st_size // 2)


def block_image(target: Target) -> None:
    """An image becomes a pipe into which nobody writes: whoever reads it waits for ever."""
    path = _an_image(target)
    path.unlink()
    os.mkfifo(path)


def _an_image(target: Target) -> Path:
    """One that nothing befell yet, or that was only cut off."""
    images = [path for kind in ("*.jpg", "*.png") for path in target.images.rglob(kind)]
    return target.rng.choice(sorted(path for path in images if path.is_file()))


def starve(target: Target) -> None:
    """From now on every image of the run takes long to open, as on a storage far away."""
    target.until_end.enter_context(SlowFolder(target.images, OPENS_IN_S))


# --- numbers ---


def nothing(target: Target) -> None:
    """The rate is wrong enough."""


KINDS: dict[str, FaultKind] = {
    "kill": FaultKind(kill),
    "crash": FaultKind(crash),
    "terminate": FaultKind(terminate, ends_supervisor=True, may_lose=0),
    "interrupt": FaultKind(interrupt, ends_supervisor=True, may_lose=0),
    "terminate_worker": FaultKind(terminate_worker, may_lose=0),
    "cut_power": FaultKind(cut_power, ends_supervisor=True),
    "stop": FaultKind(stop),
    "spoil_checkpoint": FaultKind(spoil_checkpoint, may_lose=2),
    "tear_checkpoint": FaultKind(tear_checkpoint, may_lose=2),
    "fill_disk": FaultKind(fill_disk, needs_root=True, may_lose=None),  # none can be kept while it is full
    "refuse_memory": FaultKind(refuse_memory, is_exact=False),
    "refuse_first_memory": FaultKind(refuse_memory, is_exact=False, before_first_step=True),
    "kill_for_memory": FaultKind(kill_for_memory, is_exact=False, needs_root=True),
    "nearly_fill_memory": FaultKind(nearly_fill_memory, is_exact=False, needs_root=True, needs_group=True, is_alone=True),
    "starve": FaultKind(starve, needs_root=True, is_alone=True, may_lose=0, run_with=LITTLE_PREFETCH),
    "spoil_image": FaultKind(spoil_image, is_exact=False, restarts=False, run_with=LITTLE_PREFETCH),
    "block_image": FaultKind(block_image, is_exact=False, restarts=False, run_with=LITTLE_PREFETCH),
    "explode": FaultKind(
        nothing, is_exact=False, settings={"learning_rate": 1.0, "clip_norm": 0.0, "warmup_steps": 0}, may_lose=None
    ),
    "diverge": FaultKind(
        nothing, is_exact=False, settings={"learning_rate": 0.3, "clip_norm": 0.0, "warmup_steps": 200}, may_lose=None
    ),
}
