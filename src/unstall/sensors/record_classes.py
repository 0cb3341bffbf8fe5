"""The classes of the objects in TFRecord files, against the label map and the number of classes that the configuration names.

Of the TensorFlow Object Detection API's features, a class is a number, or a text that the label map turns into one. An object
whose text the map does not have is left out by the API on purpose; a number that the map lacks is not, and no error follows: it
is made one-hot, which gives zeros. Only a configuration on the command line that names one label map alone is believed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from unstall.journal.events import ClassesCompared
from unstall.sensors import tfrecord_files
from unstall.sensors.data_files import find_kind, list_matched
from unstall.sensors.data_paths import read_text, read_texts

MAX_SECONDS = 5.0
MAX_RECORDS_PER_FILE = 400
MAX_RECORD_FILES = 200
LABELS, TEXTS = b"image/object/class/label", b"image/object/class/text"
_LABEL_MAP = re.compile(r"""['"](?P<path>[^'"\n]+\.pbtxt)['"]""")
_NUM_CLASSES = re.compile(r"""\bnum_classes\b['"]?\s*[:=]\s*(?P<number>\d+)\b""")


class Configuration(NamedTuple):
    path: str
    label_map: str
    num_classes: int | None
    num_classes_line: int


def compare_classes(paths: Iterable[str], command: Sequence[str], folder: str) -> ClassesCompared | None:
    """`paths`: files and patterns that the program has opened or listed. None where there is nothing to compare."""
    records = [
        file
        for path in dict.fromkeys(os.path.normpath(Path(folder, each)) for each in paths if find_kind(each) == "records")
        for file in list_matched(path)
    ][:MAX_RECORD_FILES]
    configuration = _read_configuration(command, folder) if records else None
    numbers = None if configuration is None else _read_label_map(configuration.label_map)
    if configuration is None or not numbers:
        return None
    looked_at, objects, unknown, above = 0, 0, [], []
    until = time.monotonic() + MAX_SECONDS
    for path, number, classes in _classes_in(sorted(set(records)), numbers, until):
        looked_at, objects = looked_at + 1, objects + len(classes)
        for each in classes:
            if each is not None and each not in numbers.values():
                unknown.append((path, number, each))
            elif each is not None and configuration.num_classes is not None and each > configuration.num_classes:
                above.append((path, number, each))
    if not objects:
        return None
    wrong = unknown or above
    return ClassesCompared(
        at=time.time(),
        label_map=configuration.label_map,
        max_in_map=max(numbers.values()),
        configuration=configuration.path,
        num_classes=configuration.num_classes,
        num_classes_line=configuration.num_classes_line,
        records=looked_at,
        objects=objects,
        not_in_map=len(unknown),
        above_num_classes=len(above),
        path=wrong[0][0] if wrong else "",
        record=wrong[0][1] if wrong else 0,
        value=wrong[0][2] if wrong else 0,
    )


def _read_configuration(command: Sequence[str], folder: str) -> Configuration | None:
    """The only one on the command line that names a label map."""
    found = []
    for path, text in read_texts(command, folder):
        lines = [line.partition("#")[0] for line in text.splitlines()]
        maps = {match["path"] for line in lines for match in _LABEL_MAP.finditer(line)}
        counts = [(int(match["number"]), number) for number, line in enumerate(lines, 1) for match in _NUM_CLASSES.finditer(line)]
        if maps:
            count, line = counts[0] if len({each for each, _ in counts}) == 1 else (None, 0)
            found += [Configuration(path, os.path.normpath(Path(folder, each)), count, line) for each in maps]
    return found[0] if len(found) == 1 else None


def _read_label_map(path: str) -> dict[str, int]:
    """Name to number. Empty where it cannot be read, or an item has no name of its own."""
    from unstall.data.io import label_map
    from unstall.data.io.reader import Unparsable

    text = read_text(path)
    try:
        items = label_map.parse(text) if text is not None else []
    except Unparsable:
        return {}
    numbers = {name: item.number for item in items for name in (item.name, item.display_name) if name}
    return numbers if {item.number for item in items} == set(numbers.values()) else {}


def _classes_in(files: Iterable[str], numbers: dict[str, int], until: float) -> Iterator[tuple[str, int, list[int | None]]]:
    """File, number of the record, the classes of its objects: None of one whose text the label map does not have."""
    for path in files:
        for number, data in tfrecord_files.read_records(path, MAX_RECORDS_PER_FILE):
            if time.monotonic() > until:
                return
            texts, labels = tfrecord_files.read_texts(data, TEXTS), tfrecord_files.read_numbers(data, LABELS)
            if texts:
                yield path, number, [numbers.get(text.decode("utf-8", "replace")) for text in texts]
            elif texts is not None and labels is not None:
                yield path, number, list(labels)
