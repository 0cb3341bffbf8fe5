"""Packages that are optional, and the command that installs one that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from unstall.base.errors import MissingDependencyError


@contextmanager
def name_missing_packages(command: str, extras: str) -> Iterator[None]:
    """A package that is not installed is named, with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not missing or missing.partition(".")[0] == "unstall":
            raise  # a fault of ours, not a package that is not installed
        raise MissingDependencyError(
            f"`{command}` needs the package '{missing}'. Install: pip install 'unstall[{extras}]'"
        ) from None
