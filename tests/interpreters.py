"""The Python interpreters of this machine, one of each version: programs that are attached to run on any of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

VERSIONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


def interpreter(version: str) -> str | None:
    """Our own where it is of this version, else one of pyenv, else one of the PATH."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    installed = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


FOUND = {version: path for version in VERSIONS if (path := interpreter(version)) is not None}
PYTHON_2 = interpreter("2.7")  # by itself: it cannot read most of the tests' programs
