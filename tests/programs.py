"""Runs small programs bare and under Unstall, and compares all that the outside can see of them."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

UNSTALL = [sys.executable, "-m", "unstall"]

# What Keras and TensorFlow import only because it is installed, and no test of the backend uses: a third of the CPU time of their start.
UNUSED_PACKAGES = {
    "tensorflow": ("jax", "matplotlib", "pandas"),
    "jax": ("matplotlib", "pandas"),
    "torch": ("jax", "matplotlib", "pandas"),
}


@cache
def hide_packages(*packages: str) -> str:
    """A folder for PYTHONPATH with which a program finds none of these packages, as where they are not installed."""
    folder = Path(tempfile.mkdtemp(prefix="unstall-hidden-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in packages:
        message = f"No module named {name!r}: hidden by tests/programs.py"
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError({message!r}, name={name!r})\n")
    return str(folder)


@dataclass(frozen=True)
class ProgramResult:
    """What the caller of a program sees."""

    code: int
    out: bytes
    err: bytes


def run_bare(program: Path, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> ProgramResult:
    return _run([sys.executable, str(program), *args], stdin, env)


def run_watched(
    program: Path, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None, options: tuple[str, ...] = ("--quiet",)
) -> ProgramResult:
    return _run([*UNSTALL, "run", *options, "--", sys.executable, str(program), *args], stdin, env)


def _run(command: list[str], stdin: bytes, env: dict[str, str] | None) -> ProgramResult:
    done = subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **(env or {})}, check=False, timeout=480)
    return ProgramResult(done.returncode, done.stdout, done.stderr)


def as_anybody(*command: str) -> list[str]:
    """The command, begun so that permissions of files hold for it, too: of root they are not asked."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and there is no setpriv that would take this away")
    dropped = "-dac_override,-dac_read_search"
    return ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped, *command]


def write(folder: Path, source: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(source)
    return path
