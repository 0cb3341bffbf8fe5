"""Writes a text file so that nobody ever sees half of it, whatever ends the writer meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from unstall.base.private_files import write_private
from unstall.storage import is_bucket


def write_text(target: Path, text: str, errors: str = "strict", is_private: bool = False) -> None:
    """Aside first and then renamed. A bucket replaces whole objects by itself. A pipe or a device is written in place, and so is
    a file in a folder that allows no new files. OSError where it cannot be written."""
    if not can_be_replaced(target):
        target.write_text(text, encoding="utf-8", errors=errors)
        return
    target = target.resolve()  # a link stays one
    aside = aside_of(target)
    try:
        if is_private:
            write_private(aside, text)
        else:
            aside.write_text(text, encoding="utf-8", errors=errors)
            if target.exists():
                aside.chmod(stat.S_IMODE(target.stat().st_mode))
        aside.replace(target)
    except PermissionError:
        aside.unlink(missing_ok=True)
        if not target.exists():
            raise
        target.write_text(text, encoding="utf-8", errors=errors)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def aside_of(target: Path) -> Path:
    """Where it is written before it is whole."""
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def can_be_replaced(target: Path) -> bool:
    """A plain file, or none yet. What is written to a pipe or a device cannot be taken back, and may wait for a reader."""
    return not is_bucket(target) and (target.is_file() or not target.exists())
