"""Versions of packages as they are installed; nothing is imported."""

from __future__ import annotations

import importlib.metadata


def version_of(package: str) -> str:
    """Empty where it is not installed under this name."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
