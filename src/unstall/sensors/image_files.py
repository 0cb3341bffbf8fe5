"""Image files that are damaged: without an end, looked for where an error has said that an image is cut off and not which; or no
image at all, where an error names a file that it says could not be found or read.

The error may come from a worker process, of which only its text is left. Nothing is decoded: a file's beginning and end are read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from unstall.diagnosis.causes.record_corrupt import NO_IMAGE
from unstall.diagnosis.errors.fatal_error import texts
from unstall.journal.events import DataChecked, ErrorRaised
from unstall.sensors.data_files import IMAGES
from unstall.sensors.data_paths import find_line_that_names, read_texts

MAX_FILES = 50_000
MAX_SECONDS = 5.0
MAX_NAMED = 10
END_BYTES = 4096  # in which the mark of the end stands; some programs write a little behind it
_ENDS = ((b"\xff\xd8", b"\xff\xd9"), (b"\x89PNG", b"IEND"))  # how a file of the kind begins, and its mark of the end
_CUT_OFF = re.compile(
    r"image file is truncated|truncated file read|broken data stream|premature end of|jpeg::uncompress failed"
    r"|invalid (?:jpeg|png) data",
    re.IGNORECASE,
)
_NOT_READ = re.compile(
    r"\bnot found\b|\bno such\b"
    r"|\b(?:could|can|did|does)(?:n['’]?t| ?not) (?:be )?(?:exist|found|find|read|load|open|decode|identif)"
    r"|\b(?:failed|failure|unable|error) (?:to |in |while |when )?(?:read|load|open|decod|find)"
    r"|\b(?:corrupt|damaged|invalid|broken|unreadable)\b",
    re.IGNORECASE,
)
_BEGINNINGS = re.compile(
    rb"\xff\xd8\xff|\x89PNG|GIF8|BM|RIFF....WEBP|II[*+]\0|MM\0[*+]|P[1-7f]\s|....ftyp|\0\0\0\x0cjP|\xff\x0a", re.DOTALL
)
_NAMED = re.compile(
    rf"(?<![\w.-])[^\s,;:'\"()\[\]]+(?:{'|'.join(re.escape(suffix) for suffix in sorted(IMAGES))})(?![\w])", re.IGNORECASE
)
_LISTED = re.compile(rf"[^\s,;'\"]+(?:{'|'.join(re.escape(suffix) for suffix in sorted(IMAGES))})(?=$|[\s,;'\"])", re.IGNORECASE)


def look(error: ErrorRaised, met: Iterable[str], command: Sequence[str], folder: str) -> DataChecked | None:
    """`met`: paths that the program has opened or listed. None if the error is about something else, or no image is known."""
    no_image = _find_no_image(error, folder)
    if no_image is not None:
        named_at = find_line_that_names(no_image, command, folder)
        return DataChecked(
            at=time.time(), kind="image", looked_at=1, num_damaged=1, damaged=[no_image], what=NO_IMAGE, named_at=named_at
        )
    if not any(_CUT_OFF.search(text) for text in (error.message, *error.chain)):
        return None
    until, looked_at, cut_off = time.monotonic() + MAX_SECONDS, 0, []
    for path in dict.fromkeys(_candidates(met, command, folder)):
        if looked_at >= MAX_FILES or time.monotonic() > until:
            return None  # one that was not looked at may be the one
        has_end = _has_end(path)
        looked_at += has_end is not None
        if has_end is False:
            cut_off.append(path)
    if not looked_at:
        return None
    named_at = find_line_that_names(cut_off[0], command, folder) if len(cut_off) == 1 else ""
    return DataChecked(
        at=time.time(),
        kind="image",
        looked_at=looked_at,
        num_damaged=len(cut_off),
        damaged=cut_off[:MAX_NAMED],
        what="no end",
        named_at=named_at,
    )


def _find_no_image(error: ErrorRaised, folder: str) -> str | None:
    """The image file that the error names as not to be had, where the file is there and begins as no image does."""
    for text in texts(error):
        for line in text.splitlines() if _NOT_READ.search(text) else ():
            for found in _NAMED.finditer(line) if _NOT_READ.search(line) else ():
                path = os.path.normpath(Path(folder, found[0]))
                if _begins_as_image(path) is False:
                    return path
    return None


def _begins_as_image(path: str) -> bool | None:
    """None of what cannot be read."""
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            return _BEGINNINGS.match(file.read(16)) is not None
    except OSError:
        return None


def _candidates(met: Iterable[str], command: Sequence[str], folder: str) -> Iterator[str]:
    for path in met:
        if Path(path).suffix.lower() in IMAGES:
            yield os.path.normpath(Path(folder, path))
    for file, text in read_texts(command, folder):
        for found in _LISTED.finditer(text):
            for base in (folder, str(Path(file).parent)):
                path = os.path.normpath(Path(base, found[0]))
                if Path(path).is_file():
                    yield path
                    break


def _has_end(path: str) -> bool | None:
    """None of a file that cannot be read, or is of another kind."""
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            begins = file.read(8)
            file.seek(max(0, file.seek(0, os.SEEK_END) - END_BYTES))
            last = file.read()
    except OSError:
        return None
    return next((end in last for begin, end in _ENDS if begins.startswith(begin)), None)
