"""What checks are asked about in the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unstall.config.sources import resolve
from unstall.planning.preflight.check import Context


def context(folder: Path, is_quick: bool = False, **settings: Any) -> Context:
    return Context(resolve(settings).settings, folder, is_quick)
