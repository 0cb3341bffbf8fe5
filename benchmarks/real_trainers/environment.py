"""The environment of a trainer: an interpreter of its own, in the cache of the user, outside the checkout."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from benchmarks.real_trainers.trainer import Trainer

INSTALL_TIMEOUT_S = 3600.0


class NoEnvironmentError(Exception):
    """The interpreter is not there, or a package could not be installed."""


def interpreter(trainer: Trainer, name: str) -> str:
    """Its path; installs what is not installed yet."""
    folder = _cache() / f"{name}-{_digest(trainer)}"
    python = folder / "bin" / "python"
    stamp = folder / ".complete"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _call([_base(trainer.python), "-m", "venv", str(folder)])
        for arguments in trainer.installs:
            _call([str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", *shlex.split(arguments)])
        stamp.touch()
    return str(python)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "unstall", "real_trainers")


def _digest(trainer: Trainer) -> str:
    return hashlib.sha256("\n".join((trainer.python, *trainer.installs)).encode()).hexdigest()[:8]


def _base(version: str) -> str:
    """An interpreter of this version: on the path, or one that pyenv has installed."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
        return found
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not installed:
        raise NoEnvironmentError(f"Expected python{version} on the path or in ~/.pyenv/versions. There is none.")
    return str(installed[-1])


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise NoEnvironmentError(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
