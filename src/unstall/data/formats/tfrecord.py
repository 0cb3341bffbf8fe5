"""TF Object Detection API: TFRecord files of tf.train.Example, with a label map.

What it is
----------
Images and boxes together in record files, one or several to a split. Boxes are shares of the image's size, in 32 bits; classes
are numbers from 1, named in a label map (.pbtxt). Neither TensorFlow nor the API is needed to read or write them.

How it is recognised
--------------------
The path is a record file, by the checksum of its first length; or a folder that holds files named `*.tfrecord`, `*.record` or
`…-00000-of-00010`, itself or in a folder for each split; or a pattern such as `train-*-of-*`.

What is read
------------
image/encoded, image/format, image/height, image/width, image/filename, image/source_id; image/object/bbox/xmin, ymin, xmax, ymax;
image/object/class/label and class/text (where both are there, the text decides, as in the API); image/object/difficult,
truncated, is_crowd and group_of (which is a crowd). Images stay in the file: an example knows where in it they are. Checksums are
verified. The split is taken from the file's name, else from its folder's. Without a label map the classes are those that occur.

What is written
---------------
One file for each split (`train.record`, or `data.record`) and `label_map.pbtxt`, with the keys of the API's own Pascal VOC script
and image/object/is_crowd.

What it cannot hold
-------------------
Images that are not there, boxes without a class, class numbers below 1, and the digits of a box beyond 32 bits (about a
ten-thousandth of a pixel).
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unstall.base.console import Progress, with_progress
from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Example, Flags, ImageSource, Origin
from unstall.data.io import label_map, record_features, tfrecord_file
from unstall.data.io.columns import create_example as make_example
from unstall.data.io.folder import Folder
from unstall.data.io.images import parse_header
from unstall.data.io.reader import SPLITS, FindingCollector, Names, Unparsable, split_name
from unstall.data.io.record_features import BOX_KEYS, Classes, KeyCounter, RecordKeysWrong
from unstall.data.io.writer import DataSetWriter, get_annotated_size, number_labels

SIGNS = "record files (*.tfrecord, *.record, …-00000-of-00010), in the folder or in a folder for each split"
SUFFIXES = (".tfrecord", ".tfrecords", ".record", ".records")
SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\..*)?")
MAX_SHARDS = 99_999


def recognise(path: Path) -> str:
    if path.is_file():
        return f"{path.name} begins with a record" if tfrecord_file.is_record_file(path) and not _is_log(path.name) else ""
    _, files = _files(path)
    return f"{files[0]} is named like a record file" if files else ""


def read(path: Path, progress: Progress | None = None, labels: Path | None = None) -> DataSet:
    root, files = _files(path)
    if not files:
        raise InvalidInputError(f"There is no record file in '{path}'. Looked for {SIGNS}.")
    reader = _Reader(Folder(root), files)
    reader.read_label_map(labels)
    for file in with_progress(files, "reading records", progress):
        reader.read_file(file)
    reader.notes.stop_if_nothing_was_read(len(reader.examples), path)
    return reader.data_set(path)


# --- which files there are ---


def _files(path: Path) -> tuple[Path, list[str]]:
    if path.is_file():
        return path.parent, [path.name]
    if path.is_dir():
        folder = Folder(path)
        files = [name for name in folder.files() if _is_named(name)]
        inner = [posixpath.join(place, name) for place in folder.folders() for name in folder.files(place) if _is_named(name)]
        return path, files or inner
    if re.search(r"[*?\[]", path.name) and path.parent.is_dir():
        return path.parent, sorted(
            found.name for found in path.parent.glob(path.name) if found.is_file() and not _is_log(found.name)
        )
    return path, []


def _is_named(name: str) -> bool:
    return (name.lower().endswith(SUFFIXES) or bool(SHARD.fullmatch(name))) and not _is_log(name)


def _is_log(name: str) -> bool:
    """TensorBoard's logs are records, too."""
    return "tfevents" in name


def _split_of(file: str) -> str:
    words = re.findall(r"[a-z]+", posixpath.basename(file).lower())
    named = [split_name(word) for word in (*words, posixpath.dirname(file))]
    return next((name for name in named if name in SPLITS.values()), "")


# --- reading ---


class _Reader:
    def __init__(self, folder: Folder, files: list[str]) -> None:
        self.folder = folder
        self.notes = FindingCollector()
        self.examples: list[Example] = []
        self._record_files = files
        self._names = Names()
        self._classes = Classes(None, self.notes)
        self._kinds: Counter[str] = Counter()
        self._first_of_kind: dict[str, Origin] = {}
        self._label_map = ""

    def read_label_map(self, labels: Path | None) -> None:
        if labels is not None:
            try:
                self._classes = Classes(label_map.check_items(label_map.read(labels), str(labels), self.notes), self.notes)
            except Unparsable as error:
                raise InvalidInputError(f"{Origin(str(labels), error.line)}: {error}") from None
            except OSError as error:
                raise InvalidInputError(f"The label map '{labels}' cannot be read: {error.strerror}.") from None
            return
        places = dict.fromkeys(["", *(posixpath.dirname(file) for file in self._record_files)])
        found = [posixpath.join(place, name) for place in places for name in self.folder.files(place, [".pbtxt"])]
        found = [name for name in found if "label" in posixpath.basename(name).lower()] or found
        if not found:
            return
        self._label_map = found[0]
        try:
            items = label_map.read(self.folder.root / found[0])
        except (Unparsable, OSError) as error:
            self.notes.add_unparsable(error, found[0])
        else:
            self._classes = Classes(label_map.check_items(items, found[0], self.notes), self.notes)

    def data_set(self, path: Path) -> DataSet:
        self._note_missing_shards()
        self._note_mixed_encodings()
        names, numbers, examples = self._classes.finished(self.examples, self._record_files[0])
        files = (*self._record_files, *([self._label_map] if self._label_map else []))
        return DataSet(path, "tfrecord", names, numbers, examples, tuple(self.notes.findings), tuple(files))

    def read_file(self, file: str) -> None:
        keys = KeyCounter(file)
        path, split, count = self.folder.root / file, _split_of(file), 0
        try:
            for record in tfrecord_file.read(path):
                count += 1
                origin = Origin(file, field=f"record {record.index}")
                if isinstance(record, tfrecord_file.BrokenRecord):
                    self.notes.add(record.problem, record.message, origin)
                    continue
                try:
                    self._add_example(record, file, path, split, keys)
                except RecordKeysWrong:
                    pass  # counted by the keys; said once for the file
                except Unparsable as error:
                    self.notes.add(
                        "annotation_unparsable",
                        f"{error} The record is left out.",
                        Origin(file, field=f"{origin.field}{error.field}"),
                    )
        except OSError as error:
            self.notes.add_unparsable(error, file)
        if not count:
            self.notes.add("annotation_empty", "The file holds no record.", Origin(file))
        keys.note(self.notes)

    def _add_example(self, record: tfrecord_file.Record, file: str, path: Path, split: str, keys: KeyCounter) -> None:
        found = keys.read(record.index, record_features.parse_features(record.data))
        name = self._names.unique(found.name or f"{file}#{record.index}", split)
        source = None
        kind = parse_header(found.encoded)
        place = Origin(file, field=f"record {record.index}")
        if found.encoded:
            source = ImageSource(path, record.offset + record.data.find(found.encoded), len(found.encoded))
            self._kinds[kind.kind] += 1
            self._first_of_kind.setdefault(kind.kind, place)
            keys.compare_format(record.index, found.format, kind.kind)
        else:
            self.notes.add("image_missing", "image/encoded is empty: the record has no image.", place, name)
        has_size = found.width > 1 and found.height > 1  # the API writes 1 where it does not know
        width, height = (found.width, found.height) if has_size else (kind.width, kind.height)
        scale = (width, height) * 2 if width and height else (1, 1, 1, 1)
        boxes = np.array(found.boxes, np.float64).reshape(-1, 4) * np.array(scale, np.float64)
        example = make_example(
            name=name,
            image=source,
            size=(width, height) if width and height else (None, None),
            boxes=list(boxes),
            classes=[self._classes.index(label, text, place, name) for label, text in found.classes],
            origin=Origin(file, field=f"record {record.index}: box {{}}"),
            crowd=found.crowd,
            difficult=found.difficult,
            truncated=found.truncated,
            box_lines=list(range(1, len(boxes) + 1)),
            split=split,
            is_normalised=bool(len(boxes)) and not (width and height),
            size_is_from_image=not has_size,
        )
        if not example.count:
            self.notes.add("annotation_empty", "No box is marked in this image.", place, name)
        self.examples.append(example)

    def _note_missing_shards(self) -> None:
        there: dict[tuple[str, str, int], set[int]] = {}
        for file in self._record_files:
            match = SHARD.fullmatch(file)
            if match:
                there.setdefault((match[1], match[4] or "", int(match[3])), set()).add(int(match[2]))
        for (name, suffix, count), numbers in there.items():
            missing = [number for number in range(min(count, MAX_SHARDS)) if number not in numbers]
            if missing and len(self._record_files) > 1:
                message = (
                    f"{len(missing)} of {count} files are not there, the first is {name}-{missing[0]:05d}-of-{count:05d}{suffix}."
                )
                self.notes.add("record_truncated", message, Origin(f"{name}-*-of-{count:05d}{suffix}"))

    def _note_mixed_encodings(self) -> None:
        """A loader that decodes one kind fails at the first of another."""
        (most, _), *others = self._kinds.most_common() or [("", 0)]
        for kind, count in others:
            message = f"{count} of {self._kinds.total()} images are {kind or 'of no known kind'}, most are {most}."
            self.notes.add("encodings_mixed", message, self._first_of_kind[kind])


# --- writing ---


def write(data: DataSet, path: Path, link: bool = False, progress: Progress | None = None) -> dict[str, int]:
    """What was left out, and how many of each. Images are copied into the records: there is nothing to link."""
    writing = DataSetWriter(data, path, link, progress)
    numbers = number_labels(data)
    writing.lose_changed_numbers(numbers)
    path.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for example, name in writing.examples():
            if example.split not in files:
                named = re.sub(r"[^\w.-]", "_", example.split) or "data"
                files[example.split] = stack.enter_context((path / f"{named}.record").open("wb"))
            write_record(files[example.split], writing, example, str(name), read_image_bytes(example), numbers)
    label_map.write(path / "label_map.pbtxt", data.classes, numbers)
    return dict(writing.lost)


def read_image_bytes(example: Example) -> bytes | None:
    try:
        return example.image.read() if example.image else None
    except OSError:
        return None


def write_record(
    out: BinaryIO, writing: DataSetWriter, example: Example, name: str, image: bytes | None, numbers: list[int]
) -> None:
    """One example, or the count of what is lost with it."""
    size = get_annotated_size(example)
    if image is None or size is None:
        writing.lose("images that are not there or have no known size")
        writing.lose("boxes of images that are not there or have no known size", example.count)
        return
    tfrecord_file.write(out, _encoded(writing.data, example, name, image, size, writing.select_holdable(example), numbers))


def _encoded(
    data: DataSet, example: Example, name: str, image: bytes, size: tuple[int, int], kept: Flags, numbers: list[int]
) -> bytes:
    classes = example.classes[kept].tolist()
    shares = example.boxes[kept] / np.array(size * 2, np.float64)
    return record_features.encode_example(
        {
            "image/encoded": [image],
            "image/filename": [name.encode()],
            "image/format": [(parse_header(image).kind or "jpeg").encode()],
            "image/height": [size[1]],
            "image/key/sha256": [hashlib.sha256(image).hexdigest().encode()],
            "image/source_id": [name.encode()],
            "image/width": [size[0]],
            **{key: shares[:, column].tolist() for column, key in enumerate(BOX_KEYS)},
            "image/object/class/label": [numbers[index] for index in classes],
            "image/object/class/text": [data.classes[index].encode("utf-8", errors="replace") for index in classes],
            "image/object/difficult": example.difficult[kept].astype(int).tolist(),
            "image/object/is_crowd": example.crowd[kept].astype(int).tolist(),
            "image/object/truncated": example.truncated[kept].astype(int).tolist(),
        }
    )
