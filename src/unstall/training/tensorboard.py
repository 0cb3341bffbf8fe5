"""Scalars, pictures and the settings for TensorBoard. Where the disk refuses, that is said once and the training goes on."""

from __future__ import annotations

import bisect
import io
import itertools
import math
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unstall.base.errors import InvalidInputError
from unstall.data.io import tfrecord_file
from unstall.storage import is_bucket

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SCALAR = 3.4e38  # they are written as float32


class SummaryWriter:
    def __init__(self, folder: Path, from_step: int, say: Callable[[str], None]) -> None:
        """What an earlier part of the run has written beyond `from_step` is taken back."""
        self._say = say
        self._file: EventFile | None = None
        try:
            self._file = EventFile(folder, from_step)
        except OSError as error:
            self._stop(error)

    def scalars(self, step: int, values: Mapping[str, float | None]) -> None:
        for name, value in values.items():
            if value is not None and math.isfinite(value) and abs(value) <= LARGEST_SCALAR:
                self._write(partial(EventFile.scalar, step=step, tag=name, value=value))

    def picture(self, step: int, name: str, picture: Image) -> None:
        held = io.BytesIO()
        picture.convert("RGB").save(held, "PNG")
        self._write(lambda file: file.picture(step, name, held.getvalue(), picture.width, picture.height))

    def table(self, step: int, name: str, rows: Mapping[str, Any]) -> None:
        """As text: two columns."""
        lines = [f"| {key} | {str(value).replace('|', chr(92) + '|')} |" for key, value in rows.items()]
        self._write(lambda file: file.text(step, name, "\n".join(["| name | value |", "| --- | --- |", *lines])))

    def flush(self) -> None:
        self._write(lambda file: file.flush())

    def close(self) -> None:
        self._write(lambda file: file.close())

    def _write(self, what: Callable[[EventFile], None]) -> None:
        if self._file is None:
            return
        try:
            what(self._file)
        except OSError as error:  # a full disk
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        if self._file is not None:
            with suppress(OSError):  # it has still something to write, and tries it again
                self._file.close()
        self._file = None
        self._say(f"Nothing more is written for TensorBoard: {error.strerror or error}.")


# The files that TensorBoard reads, written without any framework: records of the message Event, as TensorFlow defines it.
#
# message Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; SessionLog log = 7; }
# message Summary { repeated Value value = 1; } message Value { string tag = 1; float simple_value = 2; Image image = 4;
# TensorProto tensor = 8; SummaryMetadata metadata = 9; } message Image { int32 height = 1; int32 width = 2; int32 colorspace
# = 3; bytes encoded_image_string = 4; }
#
# They are few and never change, so they are written as bytes: a field is its number and kind, then its value.


VERSION = "brain.Event:2"  # the first record of each file
SESSION_START = 1  # SessionLog.status: events of this step and later ones, in older files, no longer hold
STRINGS = 7  # DataType
TENSOR = 2  # DataClass
RGB = 3  # colorspace
_numbers = itertools.count()  # two files of one process in one second have two names


class EventFile:
    """One file in a folder, which may hold those of earlier parts of the same run."""

    def __init__(self, folder: Path, from_step: int = 0, name: str | None = None) -> None:
        """What older files have of steps beyond `from_step` is taken back. One with a name of its own is written anew."""
        folder.mkdir(parents=True, exist_ok=True)
        own = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self._file = (folder / (name or own)).open("wb" if name else "xb")
        self._event(encode_text(3, VERSION))
        if from_step:
            self._event(message(7, encode_whole(1, SESSION_START)), from_step + 1)

    def scalar(self, step: int, tag: str, value: float, at: float | None = None) -> None:
        """`at`: when it was so; else it is now."""
        self._value(step, encode_text(1, tag) + encode_number(2, value), at)

    def picture(self, step: int, tag: str, png: bytes, width: int, height: int) -> None:
        image = encode_whole(1, height) + encode_whole(2, width) + encode_whole(3, RGB) + encode_raw(4, png)
        self._value(step, encode_text(1, tag) + message(4, image))

    def text(self, step: int, tag: str, markdown: str) -> None:
        tensor = encode_whole(1, STRINGS) + message(2, b"") + encode_raw(8, markdown.encode())
        metadata = message(1, encode_text(1, "text")) + encode_whole(4, TENSOR)
        self._value(step, encode_text(1, tag) + message(8, tensor) + message(9, metadata))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _value(self, step: int, value: bytes, at: float | None = None) -> None:
        self._event(message(5, message(1, value)), step, at)

    def _event(self, what: bytes, step: int = 0, at: float | None = None) -> None:
        moment = time.time() if at is None else at
        tfrecord_file.write(self._file, _key(1, 1) + struct.pack("<d", moment) + encode_whole(2, step) + what)


# --- fields ---


def encode_whole(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def encode_number(field: int, value: float) -> bytes:
    return _key(field, 5) + struct.pack("<f", value)


def encode_raw(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def encode_text(field: int, value: str) -> bytes:
    return encode_raw(field, value.encode())


message = encode_raw  # a message within a message is its bytes


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    """Seven bits in a byte, the lowest first; the eighth says that more follow."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


# The plots of a run as scalars that TensorBoard reads: the same lines, each point at its time and by the steps done until
# then.
#
# tensorboard --logdir FOLDER # FOLDER/RUN: several runs are shown over each other


FILE = "events.out.tfevents.unstall"  # one for a run: written anew, it takes the place of the old one


class Scalar(NamedTuple):
    tag: str
    at: float  # seconds since 1970
    step: int
    value: float


def write(story: dict[str, Any], folder: Path) -> Path:
    """Into a folder of the run's own in this one, which is given back."""
    if is_bucket(folder):
        raise InvalidInputError(f"--tensorboard: expected a folder on a disk. Received: '{folder}'")
    target = folder / str(story["run"] or "run")
    try:
        file = EventFile(target, name=FILE)
        for each in convert_scalars(story["timeline"]):
            file.scalar(each.step, each.tag, each.value, each.at)
        file.close()
    except OSError as error:
        raise InvalidInputError(f"Cannot write scalars to '{target}': {error.strerror or error}.") from None
    return target


def convert_scalars(timeline: dict[str, Any]) -> list[Scalar]:
    """In order of time."""
    began, moments, done = timeline["began"] or 0.0, timeline["steps"]["t"], _done(timeline["steps"])
    found = [
        Scalar(f"{plot['name']}/{line}", began + moment, done[bisect.bisect_right(moments, moment)], value)
        for plot in timeline["plots"]
        for line, moment, value in _points(plot, timeline["seconds"])
        if math.isfinite(value) and abs(value) <= LARGEST_SCALAR
    ]
    return sorted(found, key=lambda each: each.at)


def _points(plot: dict[str, Any], seconds: float) -> Iterator[tuple[str, float, float]]:
    """Name of a line, moment, value. A share of time is that of a stretch, and stands at its end."""
    if plot["kind"] == "areas":
        for area in plot["areas"]:
            for place, share in enumerate(area["shares"]):
                yield area["name"], min(seconds, (place + 1) * plot["bin_s"]), share
        return
    for line in plot["lines"]:
        for moment, value in zip(line["t"], line["mean"], strict=True):
            yield line["name"], moment, value


def _done(steps: dict[str, Any]) -> list[int]:
    """How many steps were done before the first of its moments, and after each. Where counting begins anew, as with the next
    `fit`, it goes on from what was done: a line that runs backwards cannot be read."""
    done, before, earlier = [0], 0, 0
    for count in (round(each) for each in steps.get("high") or steps["mean"]):
        earlier += before if count < before else 0
        done.append(earlier + count)
        before = count
    return done
