"""Runs small programs bare and under Unstall, and compares all that the outside can see of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

UNSTALL = [sys.executable, "-m", "unstall"]


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
