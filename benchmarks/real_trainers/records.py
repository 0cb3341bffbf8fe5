"""Data sets as TFRecord files in three shards, and what can be wrong with one of them."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.real_trainers import pictures
from unstall.data.io import tfrecord_file

NUM_SHARDS = 3
_JPEG_STARTS = b"\xff\xd8\xff"
_LABEL_KEY = b"image/object/class/label"
NO_CLASS = 99


def write_shards(folder: Path, fault: str) -> Path:
    """Three files `train-0000N.record`, and `label_map.pbtxt`. Gives the middle one, which has the fault, if any has."""
    whole = folder / "whole"
    pictures.write_shapes(whole, "tfrecord", image_size="1600x1600" if fault == "input_slow" else pictures.IMAGE_SIZE)
    records = [found.data for found in tfrecord_file.read(whole / "data.record") if isinstance(found, tfrecord_file.Record)]
    shards = [folder / f"train-{number:05d}.record" for number in range(NUM_SHARDS)]
    spoiled = shards[NUM_SHARDS // 2]
    for number, shard in enumerate(shards):
        own = records[number::NUM_SHARDS]
        middle = len(own) // 2
        if shard == spoiled and fault == "image_corrupt":
            own[middle] = _without_header(own[middle])
        if shard == spoiled and fault == "label_unknown":
            own[middle] = _with_label(own[middle])
        with shard.open("wb") as file:
            for record in own:
                tfrecord_file.write(file, record)
    (whole / "label_map.pbtxt").rename(folder / "label_map.pbtxt")
    if fault == "input_blocked":
        pictures.block(spoiled)
    elif fault == "record_corrupt":
        plain = bytearray(spoiled.read_bytes())
        middle = len(plain) // 2
        plain[middle : middle + 64] = os.urandom(64)
        spoiled.write_bytes(plain)
    return spoiled


def _without_header(record: bytes) -> bytes:
    """The image in it can no longer be decoded."""
    at = record.index(_JPEG_STARTS)
    return record[:at] + bytes(200) + record[at + 200 :]


def _with_label(record: bytes) -> bytes:
    """The first of its labels is one that no map has. They are a packed list of one byte each, behind their key."""
    at = record.index(_LABEL_KEY) + len(_LABEL_KEY)
    end = record.find(b"image/", at)
    labels = record[at : end if end > 0 else None]
    # Feature { int64_list { value: packed } }: the lengths of three messages, then the values.
    packed = labels.index(b"\x0a", labels.index(b"\x1a")) + 2
    return record[: at + packed] + bytes([NO_CLASS]) + record[at + packed + 1 :]
