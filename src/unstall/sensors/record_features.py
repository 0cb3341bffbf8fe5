"""Which features the records of a program have, of which type and with how many values: read when an error says that one lacks
a feature, or has another one than was asked for.

Nothing is decoded and no package is needed. Only files that the program has opened or listed are read, and only some records.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from unstall.journal.events import ErrorRaised, RecordFeaturesRead
from unstall.sensors import tfrecord_files
from unstall.sensors.data_files import find_kind, list_matched
from unstall.sensors.tfrecord_files import BYTES_LIST, INT64_LIST, LIST_VALUE, PLAIN_VALUE, read_varint

MAX_SECONDS = 5.0
MAX_FILES = 200
MAX_RECORDS_PER_FILE = 400
MAX_RECORD_BYTES = 64 * 2**20
MAX_NAMES = 40
FLOAT_LIST = 0x12
_KINDS = {BYTES_LIST: "string", FLOAT_LIST: "float", INT64_LIST: "int64"}
_ASKED = re.compile(r"(?:Feature: |Key: )(?P<key>[\w./:-]+?)[.,]?(?=\s)")
Features = dict[str, tuple[str, int]]  # name: type and number of values


def look_for_features(error: ErrorRaised, met: Iterable[str], folder: str) -> RecordFeaturesRead | None:
    """`met`: paths and patterns that the program has opened or listed. None if the error is about something else, or no record
    could be read."""
    asked = _ASKED.search(error.message)
    if asked is None:
        return None
    key, until = asked["key"], time.monotonic() + MAX_SECONDS
    count, lacking, first = 0, 0, ""
    seen: dict[str, tuple[set[str], list[int]]] = {}
    files: set[str] = set()
    for path, number, features in _read(met, folder, until):
        count += 1
        files.add(path)
        for name, (kind, values) in features.items():
            if name in seen or len(seen) < MAX_NAMES or name == key:
                kinds, counts = seen.setdefault(name, (set(), [values, values]))
                kinds.add(kind)
                counts[:] = [min(counts[0], values), max(counts[1], values)]
        if key not in features:
            lacking, first = lacking + 1, first or f"{path}, record {number}"
    if not count:
        return None
    return RecordFeaturesRead(
        at=time.time(),
        key=key,
        files=len(files),
        path=sorted(files)[0],
        records=count,
        lacking=lacking,
        first_lacking=first,
        features=[
            {"name": name, "types": sorted(kinds), "min_count": counts[0], "max_count": counts[1]}
            for name, (kinds, counts) in sorted(seen.items())
        ],
    )


def _read(met: Iterable[str], folder: str, until: float) -> Iterator[tuple[str, int, Features]]:
    records = [os.path.normpath(Path(folder, path)) for path in met if find_kind(path) == "records"]
    files = dict.fromkeys(file for path in dict.fromkeys(records) for file in list_matched(path))
    for path in sorted(files)[:MAX_FILES]:
        for number, data in tfrecord_files.read_records(path, MAX_RECORDS_PER_FILE):
            if time.monotonic() > until:
                return
            features = read_features(data) if len(data) <= MAX_RECORD_BYTES else None
            if features is not None:
                yield path, number, features


def read_features(data: bytes) -> Features | None:
    """Of a tf.train.Example; None of what is none."""
    found: Features = {}
    try:
        for tag, part in _parts(data):
            for entry_tag, entry in _parts(part) if tag == LIST_VALUE else ():
                if entry_tag != LIST_VALUE:
                    return None
                held = dict(_parts(entry))
                kinds = list(_parts(held.get(0x12, b"")))
                kind, values = kinds[0] if kinds else (0, b"")
                found[held[LIST_VALUE].decode("utf-8")] = (_KINDS.get(kind, "nothing"), _count(kind, values))
    except (ValueError, KeyError):
        return None
    return found or None


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that have a length: tag and bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 != 2:
            raise ValueError("a field without a length, which no Example has there")
        length, at = read_varint(data, at)
        if at + length > len(data):
            raise ValueError("a field that ends behind its message")
        yield tag, data[at : at + length]
        at += length


def _count(kind: int, values: bytes) -> int:
    """How many values a list has, packed or each by itself."""
    count = at = 0
    while at < len(values):
        tag, at = read_varint(values, at)
        if tag == LIST_VALUE:
            length, at = read_varint(values, at)
            packed, at = values[at : at + length], at + length
            count += 1 if kind == BYTES_LIST else length // 4 if kind == FLOAT_LIST else sum(byte < 0x80 for byte in packed)
        elif tag == PLAIN_VALUE:
            _, at = read_varint(values, at)
            count += 1
        elif tag & 7 == 5:
            at, count = at + 4, count + 1
        else:
            raise ValueError("a field that no list of an Example has")
    return count
