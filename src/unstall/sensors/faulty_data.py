"""The data that an error speaks of: the image that is cut off or is none, the record that is damaged, the refused label.

Looked for after the error, which may come from a worker process of which only the text is left. Nothing is decoded.
"""

from __future__ import annotations

import csv
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from unstall.diagnosis.causes.record_corrupt import NO_IMAGE
from unstall.diagnosis.errors.fatal_error import format_texts
from unstall.journal.events import DataChecked, ErrorRaised, LabelFound
from unstall.sensors import tfrecord_files
from unstall.sensors.data_files import IMAGES, find_kind, list_matched
from unstall.sensors.data_paths import find_line_that_names, read_text, read_texts
from unstall.sensors.tfrecord_files import GZIP

MAX_FILES = 50_000
MAX_SECONDS = 5.0
MAX_NAMED = 10  # files
END_BYTES = 4096  # in which the mark of the end stands; some programs write a little behind it
_ENDS = ((b"\xff\xd8", b"\xff\xd9"), (b"\x89PNG", b"IEND"))  # how a file of the kind begins, and its mark of the end
_CUT_OFF = re.compile(
    r"image file is truncated|truncated file read|broken data stream|premature end of|jpeg::uncompress failed"
    r"|invalid (?:jpeg|png) data",
    re.IGNORECASE,
)
_OTHER_KIND = re.compile(r"Unknown image file format|Expected image \(JPEG, PNG, or GIF\)|detected [Uu]nknown|Input is empty")
BEGINNING_BYTES = 48
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


def look_for_damaged_images(error: ErrorRaised, met: Iterable[str], command: Sequence[str], folder: str) -> DataChecked | None:
    """`met`: paths that the program has opened or listed. None if the error is about something else, or no image is known."""
    no_image = _find_no_image(error, folder)
    if no_image is not None:
        named_at = find_line_that_names(no_image, command, folder)
        return DataChecked(
            at=time.time(), kind="image", looked_at=1, num_damaged=1, damaged=[no_image], what=NO_IMAGE, named_at=named_at
        )
    until, looked_at, cut_off = time.monotonic() + MAX_SECONDS, 0, []
    met, texts = list(met), (error.message, *error.chain)
    if any(_OTHER_KIND.search(text) for text in texts):
        return _look_for_other_kind(met, command, folder, until)
    if not any(_CUT_OFF.search(text) for text in texts):
        return None
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


def _look_for_other_kind(met: list[str], command: Sequence[str], folder: str, until: float) -> DataChecked | None:
    """Files that are named as images and begin as none."""
    looked_at, others = 0, []
    for path in dict.fromkeys(_candidates(met, command, folder)):
        if looked_at >= MAX_FILES or time.monotonic() > until:
            return None  # one that was not looked at may be the one
        is_image = _begins_as_image(path)
        looked_at += is_image is not None
        others += [path] if is_image is False else []
    if not looked_at:
        return None
    return DataChecked(
        at=time.time(),
        kind="image",
        looked_at=looked_at,
        num_damaged=len(others),
        damaged=others[:MAX_NAMED],
        what=NO_IMAGE,
        named_at=find_line_that_names(others[0], command, folder) if len(others) == 1 else "",
        begins=_read_beginning(others[0]) if len(others) == 1 else "",
    )


def _read_beginning(path: str) -> str:
    """The first letters of what is a text; that it is empty, of what is."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(BEGINNING_BYTES)
    except OSError:
        return ""
    if not data:
        return "nothing: it is empty"
    first = data.splitlines()[0] if data.splitlines() else b""
    return (
        f"the text {first.decode('ascii')!r}" if first.strip() and first.isascii() and first.decode("ascii").isprintable() else ""
    )


def _of_files(met: Iterable[str], command: Sequence[str], folder: str) -> Iterator[tuple[str, int | None, bool | None]]:
    for path in dict.fromkeys(_candidates(met, command, folder)):
        yield path, None, _has_end(path)


def _of_records(met: Iterable[str], folder: str) -> Iterator[tuple[str, int | None, bool | None]]:
    """The images in TFRecord files, by the number of their record."""
    for path in dict.fromkeys(os.path.normpath(Path(folder, each)) for each in met if find_kind(each) == "records"):
        for number, data in tfrecord_files.read_records(path, MAX_FILES):
            image = tfrecord_files.find_image(data)
            yield path, number, None if image is None else _ends(image[:8], image[-END_BYTES:])


def _find_no_image(error: ErrorRaised, folder: str) -> str | None:
    """The image file that the error names as not to be had, where the file is there and begins as no image does."""
    for text in format_texts(error):
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
            yield from list_matched(os.path.normpath(Path(folder, path)))
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


# --- which of several TFRecord files has the damaged record: the error tells the byte alone ---


MAX_RECORD_FILES = 20_000
HEAD_BYTES = 12
LARGEST_CHECKED_BYTES = 2**28
_DAMAGED_AT = re.compile(r"\b(?:corrupted|truncated) record at (?P<offset>\d+)")


def look_for_damaged_records(error: ErrorRaised, met: Iterable[str], folder: str) -> DataChecked | None:
    """`met`: paths that the program has opened or listed. None if the error is about something else, or it cannot be told."""
    said = _DAMAGED_AT.search(error.message)
    paths = {os.path.normpath(Path(folder, path)) for path in met if find_kind(path) == "records"}
    if said is None or not paths or len(paths) > MAX_RECORD_FILES:
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
        from unstall.data.io.tfrecord_file import compute_masked_crc
    except ImportError:
        return None
    pairs = ((head[:8], head[8:]), (data, checksum))
    return any(compute_masked_crc(content) != int.from_bytes(crc, "little") for content, crc in pairs)


# --- the line of a table with a class number that the model has no output for ---

# A column of whole numbers that holds it, above or below all the others, is that of the classes; where two may be, none is.


SUFFIXES = frozenset({".csv", ".tsv", ".txt"})
MIN_ROWS = 4
MAX_ROWS = 2_000_000
_REFUSED = re.compile(
    r"Target (?P<torch>-?\d+) is out of bounds|label value of (?P<tensorflow>-?\d+) which is outside the valid range"
    r"|\b(?:class|label|category)(?: name| id)? ['\"](?P<named>-?\d+)['\"] (?:is |was )?not "
    r"(?:in|found in|included in|part of)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^(?P<quote>['\"])(?P<path>[^'\"\n]+)(?P=quote)$")


def look_for_refused_label(
    error: ErrorRaised, lines: Iterable[dict[str, Any]], command: Sequence[str], folder: str
) -> LabelFound | None:
    """`lines`: the program's own lines, with the values that they used. None if it stands nowhere, or it cannot be told where."""
    refused = _REFUSED.search(error.message)
    if refused is None:
        return None
    number = int(refused["torch"] or refused["tensorflow"] or refused["named"])
    texts = {os.path.realpath(path): text for path, text in (*read_texts(command, folder), *_in_values(lines, folder))}
    found = [
        LabelFound(at=time.time(), path=path, line=rows[0], value=number, times=len(rows))
        for path, text in texts.items()
        if Path(path).suffix.lower() in SUFFIXES
        for rows in _columns_with(number, text)
    ]
    return found[0] if len(found) == 1 else None


def _in_values(lines: Iterable[dict[str, Any]], folder: str) -> Iterator[tuple[str, str]]:
    """Text files that the program's values name."""
    values = (value for line in lines for key in ("values", "origins") for value in line.get(key) or ())
    for value in values:
        named = _QUOTED.match(str(value.get("text") or ""))
        if named is not None and Path(named["path"]).suffix.lower() in SUFFIXES:
            path = os.path.normpath(Path(folder, named["path"]))
            text = read_text(path)
            if text is not None:
                yield path, text


def _columns_with(number: int, text: str) -> Iterator[list[int]]:
    """The lines on which it stands, for each column of which it is the outermost."""
    lines = text.splitlines()[:MAX_ROWS]
    delimiter = max(",;\t ", key=lambda each: sum(line.count(each) for line in lines[:100]))
    try:
        rows = [(line, row) for line, row in enumerate(csv.reader(lines, delimiter=delimiter), 1) if row]
    except csv.Error:
        return
    for index in range(max((len(row) for _, row in rows), default=0)):
        values = [(line, _whole(row[index])) for line, row in rows if index < len(row)]
        known = [(line, value) for line, value in values if value is not None]
        if len(known) < max(MIN_ROWS, len(values) - 1):  # one row may be that of the names
            continue
        others = [value for _, value in known if value != number]
        stands = [line for line, value in known if value == number]
        if stands and len(others) >= len(stands) and (number > max(others) or number < min(others)):
            yield stands


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
