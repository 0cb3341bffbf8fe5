"""Images without an end, in files and in TFRecord files, looked for where an error has said that one is cut off and not which.

The error may come from a worker process, of which only its text is left. Nothing is decoded: the end of a file is read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from unstall.journal.events import DataChecked, ErrorRaised
from unstall.sensors import tfrecord_files
from unstall.sensors.data_files import IMAGES, kind_of
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
_LISTED = re.compile(rf"[^\s,;'\"]+(?:{'|'.join(re.escape(suffix) for suffix in sorted(IMAGES))})(?=$|[\s,;'\"])", re.IGNORECASE)


def look(error: ErrorRaised, met: Iterable[str], command: Sequence[str], folder: str) -> DataChecked | None:
    """`met`: paths that the program has opened or listed. None if the error is about something else, or no image is known."""
    if not any(_CUT_OFF.search(text) for text in (error.message, *error.chain)):
        return None
    until, looked_at, cut_off = time.monotonic() + MAX_SECONDS, 0, []
    met = list(met)
    for path, number, has_end in chain(_of_files(met, command, folder), _of_records(met, folder)):
        if looked_at >= MAX_FILES or time.monotonic() > until:
            return None  # one that was not looked at may be the one
        looked_at += has_end is not None
        if has_end is False:
            cut_off.append((path, number))
    if not looked_at:
        return None
    named_at = find_line_that_names(cut_off[0][0], command, folder) if len(cut_off) == 1 else ""
    return DataChecked(
        at=time.time(),
        kind="image",
        looked_at=looked_at,
        num_damaged=len(cut_off),
        damaged=[path if number is None else f"{path}, record {number}" for path, number in cut_off[:MAX_NAMED]],
        what="no end",
        named_at=named_at,
    )


def _of_files(met: Iterable[str], command: Sequence[str], folder: str) -> Iterator[tuple[str, int | None, bool | None]]:
    for path in dict.fromkeys(_candidates(met, command, folder)):
        yield path, None, _has_end(path)


def _of_records(met: Iterable[str], folder: str) -> Iterator[tuple[str, int | None, bool | None]]:
    """The images in TFRecord files, by the number of their record."""
    for path in dict.fromkeys(os.path.normpath(Path(folder, each)) for each in met if kind_of(each) == "records"):
        for number, data in tfrecord_files.records(path, MAX_FILES):
            image = tfrecord_files.image_bytes(data)
            yield path, number, None if image is None else _ends(image[:8], image[-END_BYTES:])


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
    return _ends(begins, last)


def _ends(begins: bytes, last: bytes) -> bool | None:
    return next((end in last for begin, end in _ENDS if begins.startswith(begin)), None)
