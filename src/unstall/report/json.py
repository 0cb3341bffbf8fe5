"""The story as JSON, to a file or to standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.redact.text import redact_json
from unstall.journal.writer import finite
from unstall.report.atomic_write import aside_of, can_be_replaced, write_text
from unstall.storage import is_bucket, resolve_path


def write(story: dict[str, Any], target: str, is_of_program: bool = True) -> None:
    """`-` is standard output. What comes from a program is written without its secrets; the board's own address has its token."""
    text = json.dumps(finite(story), indent=2, default=str, allow_nan=False)
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


def may_be_written_often(target: str | None) -> bool:
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
    tried = path if existed else aside_of(path)  # an empty file under its own name might be taken for the JSON
    try:
        tried.open("a").close()
    except OSError as error:
        raise _refused(path, error) from None
    if not existed:
        tried.unlink(missing_ok=True)


def _refused(target: str | Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"Cannot write the JSON to '{target}': {error.strerror}.")
