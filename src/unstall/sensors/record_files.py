"""Which of several TFRecord files it is in which a record is damaged, looked for after an error that tells the byte alone."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from unstall.journal.events import DataChecked, ErrorRaised
from unstall.sensors.data_files import kind_of
from unstall.sensors.tfrecord_files import GZIP

MAX_FILES = 20_000
MAX_NAMED = 10
MAX_SECONDS = 5.0
HEAD_BYTES = 12
LARGEST_CHECKED_BYTES = 2**28
_DAMAGED_AT = re.compile(r"\b(?:corrupted|truncated) record at (?P<offset>\d+)")


def look(error: ErrorRaised, met: Iterable[str], folder: str) -> DataChecked | None:
    """`met`: paths that the program has opened or listed. None if the error is about something else, or it cannot be told."""
    said = _DAMAGED_AT.search(error.message)
    paths = {os.path.normpath(Path(folder, path)) for path in met if kind_of(path) == "records"}
    if said is None or not paths or len(paths) > MAX_FILES:
        return None
    until, looked = time.monotonic() + MAX_SECONDS, {}
    for path in sorted(paths):
        looked[path] = _is_damaged_at(path, int(said["offset"]), until)
    if None in looked.values():
        return None  # one that was not looked at may be the one
    damaged = [path for path, is_damaged in looked.items() if is_damaged]
    return DataChecked(
        at=time.time(),
        kind="record file",
        looked_at=len(looked),
        num_damaged=len(damaged),
        damaged=damaged[:MAX_NAMED],
        what="a damaged record there",
    )


def _is_damaged_at(path: str, offset: int, until: float) -> bool | None:
    """Whether a record begins there, or its data do, that is cut off or has a wrong checksum: TensorFlow names the byte of the
    part that it could not read. None if that could not be looked at."""
    try:
        if not Path(path).is_file():
            return None
        size = Path(path).stat().st_size
        with Path(path).open("rb") as file:
            if file.read(2) == GZIP:
                return None  # the byte is one of what it unpacks to
            at = 0
            while at < offset - HEAD_BYTES:
                if time.monotonic() > until:
                    return None
                file.seek(at)
                at += HEAD_BYTES + int.from_bytes(file.read(8), "little") + 4
            file.seek(at)
            head = file.read(HEAD_BYTES)
            length = int.from_bytes(head[:8], "little")
            if at not in (offset, offset - HEAD_BYTES) or at >= size:
                return False
            if len(head) < HEAD_BYTES or at + HEAD_BYTES + length + 4 > size:
                return True
            return None if length > LARGEST_CHECKED_BYTES else _has_wrong_checksum(head, file.read(length), file.read(4))
    except OSError:
        return None


def _has_wrong_checksum(head: bytes, data: bytes, checksum: bytes) -> bool | None:
    try:
        from unstall.data.io.tfrecord_file import masked_crc
    except ImportError:
        return None
    pairs = ((head[:8], head[8:]), (data, checksum))
    return any(masked_crc(content) != int.from_bytes(crc, "little") for content, crc in pairs)
