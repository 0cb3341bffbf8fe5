"""Where a run of `benchmarks.compare` takes place: cores, a slow disk, a control group with somebody else in it. All is real.

What needs root (control groups of the first kind, a file system of the memory) is refused with a word where it cannot be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks.compare_pairs import Variant

MEMORY, BLOCKS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/blkio")
ENTER = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execvp(sys.argv[2], sys.argv[2:])"
HOLD = """
import sys, time
open("/proc/self/oom_score_adj", "w").write("-1000")  # it was there first, and stays
held = bytearray(int(sys.argv[1]))
held[::4096] = b"x" * len(held[::4096])
print("held", flush=True)
time.sleep(600)
"""
LEAVES_S = 3.0


@contextmanager
def started_in(variant: Variant, place: Path, data: Path | None) -> Iterator[tuple[list[str], dict[str, str]]]:
    """What stands before the command, and variables. The data lies in `place/data`."""
    with ExitStack() as stack:
        env: dict[str, str] = {"TF_CPP_MIN_LOG_LEVEL": "3"}
        before: list[str] = []
        if variant.package is not None:
            env["PYTHONPATH"] = os.pathsep.join(["../site-packages", *filter(None, [os.environ.get("PYTHONPATH")])])
        if data is not None:
            stack.enter_context(_data_at(place / "data", data, variant.in_memory))
        if variant.cores:
            allowed = sorted(os.sched_getaffinity(0))[: variant.cores]
            before = ["taskset", "-c", ",".join(str(core) for core in allowed)]
        if variant.read_bytes_s:
            group = stack.enter_context(_group(BLOCKS))
            device = place.stat().st_dev
            rule = f"{os.major(device)}:{os.minor(device)} {variant.read_bytes_s}"
            (group / "blkio.throttle.read_bps_device").write_text(rule)
            before = [sys.executable, "-c", ENTER, str(group / "cgroup.procs"), *before]
            _forget(place / "data")
        if variant.group_bytes:
            group = stack.enter_context(_group(MEMORY))
            (group / "memory.limit_in_bytes").write_text(str(variant.group_bytes))
            (group / "memory.swappiness").write_text("0")
            before = [sys.executable, "-c", ENTER, str(group / "cgroup.procs"), *before]
            if variant.foreign_bytes:
                stack.enter_context(_somebody_else(group, variant.foreign_bytes))
        yield before, env


@contextmanager
def _data_at(target: Path, data: Path, in_memory: bool) -> Iterator[None]:
    if not in_memory:
        shutil.copytree(data, target)
        yield
        return
    target.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(target)], check=True)
    try:
        shutil.copytree(data, target, dirs_exist_ok=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


@contextmanager
def _group(controller: Path) -> Iterator[Path]:
    group = controller / f"unstall-benchmark-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        until = time.monotonic() + LEAVES_S
        while group.exists() and time.monotonic() < until:
            with suppress(OSError):  # somebody is still on the way out
                group.rmdir()
                break
            time.sleep(0.1)


@contextmanager
def _somebody_else(group: Path, count: int) -> Iterator[None]:
    command = [sys.executable, "-c", ENTER, str(group / "cgroup.procs"), sys.executable, "-c", HOLD, str(count)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()  # it holds them now
        yield
    finally:
        other.kill()
        other.wait()


def _forget(folder: Path) -> None:
    """What lies in the cache of the kernel is read from there, however slow the disk is."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
