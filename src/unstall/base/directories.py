"""The user's directories, as the XDG Base Directory Specification has them. RuntimeError where the user has no home."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "unstall"


def get_cache_dir() -> Path:
    """For what can be made or fetched again."""
    return _base("XDG_CACHE_HOME", ".cache") / NAME


def get_state_dir() -> Path:
    """For what is kept: the runs."""
    return _base("XDG_STATE_HOME", ".local/state") / NAME


def _base(variable: str, usual: str) -> Path:
    explicit = os.environ.get(variable)
    return Path(explicit) if explicit else Path.home() / usual
