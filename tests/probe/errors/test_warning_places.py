"""A warning of what we have hooked names the line that it names alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = """
import warnings
def imread(path, level=2):
    warnings.warn("imread is old", UserWarning, stacklevel=level)
"""
PROGRAM = """
import jax  # a module of its own by that name: the probe is switched on
import cv2
def read(level):
    return cv2.imread("a.jpg", level)
def load(level):
    return read(level)
load(LEVEL)
"""


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_the_place_is_that_of_the_program_alone(level: int, tmp_path: Path) -> None:
    (tmp_path / "cv2.py").write_text(LIBRARY)
    (tmp_path / "jax.py").write_text("__version__ = '0.4.0'\n")
    (tmp_path / "train.py").write_text(PROGRAM.replace("LEVEL", str(level)))
    environ = {**os.environ, "UNSTALL_HOME": str(tmp_path / "runs")}
    program = [sys.executable, "train.py"]

    def shown(command: list[str]) -> list[str]:
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=240, check=True)
        lines = done.stderr.splitlines()
        first = next(number for number, line in enumerate(lines) if "imread is old" in line)
        return lines[first : first + 2]

    alone = shown(program)
    assert len(alone) == 2
    assert shown([sys.executable, "-m", "unstall", "run", "--", *program]) == alone
