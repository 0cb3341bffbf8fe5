"""What a command found, as JSON, to a file or to standard output; a file is replaced as a whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.files import write_private
from unstall.base.redact.text import redact_json
from unstall.journal.writer import replace_not_finite
from unstall.storage import is_bucket, resolve_path


def write(story: dict[str, Any], target: str, is_of_program: bool = True) -> None:
    """`-` is standard output. What comes from a program is written without its secrets; the board's own address has its token."""
    text = json.dumps(replace_not_finite(story), indent=2, default=str, allow_nan=False)
    text = redact_json(text, indent=2) if is_of_program else text
    if target == "-" and sys.stdout is None:
        raise InvalidInputError("Cannot write the JSON to standard output: it is closed.")
    if target == "-":
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        return
    try:
        write_text(resolve_path(target), text + "\n")
    except OSError as error:
        raise _refused(target, error) from None


def can_be_rewritten(target: str | None) -> bool:
    """A file on the disk: the newest replaces what was written before. Standard output, a pipe or a device is written once, at
    the end; so is a bucket, whose answer may take long."""
    return target not in {None, "-"} and can_be_replaced(resolve_path(target or "-"))


def refuse_unwritable(target: str | None) -> None:
    """Says so before a run that may take days, rather than after it. Leaves nothing behind."""
    path = resolve_path(target or "-")
    if is_bucket(path):
        return  # whether it may be written shows when it is
    existed = path.exists()
    if target in {None, "-"} or (existed and not path.is_file() and not path.is_dir()):
        return  # a pipe or a device: to open it for a try might block
    tried = path if existed else name_temporary_file(path)  # an empty file under its own name might be taken for the JSON
    try:
        tried.open("a").close()
    except OSError as error:
        raise _refused(path, error) from None
    if not existed:
        tried.unlink(missing_ok=True)


def _refused(target: str | Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"Cannot write the JSON to '{target}': {error.strerror}.")


# Writes a text file so that nobody ever sees half of it, whatever ends the writer meanwhile.


def write_text(target: Path, text: str, errors: str = "strict", is_private: bool = False) -> None:
    """Aside first and then renamed. A bucket replaces whole objects by itself. A pipe or a device is written in place, and so is
    a file in a folder that allows no new files. OSError where it cannot be written."""
    if not can_be_replaced(target):
        target.write_text(text, encoding="utf-8", errors=errors)
        return
    target = target.resolve()  # a link stays one
    aside = name_temporary_file(target)
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


def name_temporary_file(target: Path) -> Path:
    """Where it is written before it is whole."""
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def can_be_replaced(target: Path) -> bool:
    """A plain file, or none yet. What is written to a pipe or a device cannot be taken back, and may wait for a reader."""
    return not is_bucket(target) and (target.is_file() or not target.exists())
