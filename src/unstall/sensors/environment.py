"""Where a program is started: the machine as it may use it, its limits, and the variables that can change a training."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from unstall.base.redact.environment import select_variables
from unstall.journal.events import CircumstancesSeen
from unstall.sensors import cgroup, filesystem

START = Path(__file__).parents[1] / "probe" / "start"  # what `unstall run` puts on the program's path
LIMITS = {
    "address_space_bytes": resource.RLIMIT_AS,
    "data_bytes": resource.RLIMIT_DATA,
    "stack_bytes": resource.RLIMIT_STACK,
    "file_bytes": resource.RLIMIT_FSIZE,
    "locked_bytes": resource.RLIMIT_MEMLOCK,
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "cpu_s": resource.RLIMIT_CPU,
}


def look(pid: int, script: str, folder: str, variables: Mapping[str, str], drivers: Mapping[str, str]) -> CircumstancesSeen:
    return CircumstancesSeen(
        at=time.time(),
        script=script,
        variables=select_variables(_as_given(variables)),
        machine=describe_machine(pid, folder),
        drivers=dict(drivers),
    )


def _as_given(variables: Mapping[str, str]) -> dict[str, str]:
    """Without what Unstall itself has put there."""
    given = dict(variables)
    parts = [part for part in given.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(START)]
    given.pop("PYTHONPATH", None)
    return {**given, "PYTHONPATH": os.pathsep.join(parts)} if parts else given


def describe_machine(pid: int, folder: str) -> dict[str, Any]:
    return {
        "hostname": platform.node(),
        "kernel": platform.release(),
        "processor": _processor(),
        "cores": count_usable_cores(pid),
        "cores_of_machine": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "available_bytes": psutil.virtual_memory().available,
        "cgroup_limit_bytes": cgroup.read(cgroup.find(pid))[1],
        "cgroup_used_bytes": cgroup.read(cgroup.find(pid))[0],
        "limits": read_limits(pid),
        "storage": filesystem.find_filesystem(Path(folder)) if folder else {},
    }


def count_usable_cores(pid: int) -> float:
    """Those that the process may run on, or as much of their time as its control group gives it."""
    try:
        allowed = len(os.sched_getaffinity(pid))
    except OSError:
        allowed = os.cpu_count() or 1
    quota = cgroup.read_cores(pid)
    return allowed if quota is None else round(min(float(allowed), quota), 3)


def read_limits(pid: int) -> dict[str, int]:
    """Those that there are, as `ulimit` shows them."""
    found = {}
    for name, which in LIMITS.items():
        try:
            soft, _ = resource.prlimit(pid, which)
        except (OSError, ValueError):
            continue
        if soft != resource.RLIM_INFINITY:
            found[name] = soft
    return found


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine()


# --- of a process that is there already ---


def read_variables(pid: int) -> dict[str, str]:
    """As it was started with them; nothing where it may not be asked."""
    try:
        parts = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = [part.decode("utf-8", "replace").partition("=") for part in parts if b"=" in part]
    return {name: value for name, _, value in pairs}


def read_command(pid: int) -> list[str]:
    try:
        return [part.decode("utf-8", "replace") for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if part]
    except OSError:
        return []


def read_folder(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


def find_script(command: Sequence[str], folder: str, search: Sequence[str] = ()) -> str:
    """The file that a command runs: a Python file that it names, a module that it names by `-m`; empty where neither is there."""
    for at, part in enumerate(command):
        if part == "-m" and at + 1 < len(command):
            return _module_file(command[at + 1], [folder, *search])
        if part.endswith(".py") and Path(folder, part).is_file():
            return str(Path(folder, part).resolve())
    first = Path(folder, command[0]) if command else Path()
    return str(first.resolve()) if command and "/" in command[0] and _is_script(first) else ""


def _module_file(name: str, search: Sequence[str]) -> str:
    inner = Path(*name.split("."))
    for folder in search:
        for path in (Path(folder, inner).with_suffix(".py"), Path(folder, inner, "__main__.py")):
            if path.is_file():
                return str(path.resolve())
    return ""


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
