"""Pascal VOC: one XML file for each image, splits as lists of names.

What it is
----------
The format of the Pascal VOC challenges and of labelImg. A box is xmin, ymin, xmax and ymax in pixels. They are taken as they
stand: left = xmin, top = ymin, right = xmax, bottom = ymax. (VOC's own boxes count pixels from 1 and include the last one;
most tools that write the format do neither, and nothing in a file says which it is.)

How it is recognised
--------------------
XML files with an <annotation> element: in `Annotations/` (or `annotations/`), beside the images, or in a folder for each split
(`train/a.xml`, as Roboflow exports it; `annotations/train/a.xml`). A folder that holds such folders (`VOCdevkit`) is read as
one data set.

What is read
------------
<filename>, <size>, and of each <object> its <name>, <bndbox>, <difficult> and <truncated>. The image is the file that
<filename> names, else the one that is named like the XML file; where both are there and differ, the one that is named like the
XML file, as torchvision takes it, which is said. <path>, which is of another machine, is passed over. Splits are
the lists in `ImageSets/Main`: train, val, test, or trainval where there is nothing else; without lists, the folders of these
names. An image of two lists is read once for each.
Classes are in the order of `labels.txt`, `classes.txt` or a label map (.pbtxt), where there is one, else in alphabetical order.

What is written
---------------
`Annotations`, `JPEGImages`, `ImageSets/Main` and `labels.txt`, which keeps the order of the classes. Numbers that are not
whole are written with their decimals; a reader that takes whole numbers only will refuse them.

What it cannot hold
-------------------
Crowds, numbers of classes, boxes without a class, numbers that are not finite, folders within the folder of images.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.example import UNKNOWN_CLASS, DataSet, Example, Flags, ImageSource, Origin
from unstall.data.io import label_map, voc_xml
from unstall.data.io.columns import create_example as make_example
from unstall.data.io.columns import with_header_size
from unstall.data.io.folder import Folder
from unstall.data.io.reader import (
    IMAGE_SUFFIXES,
    SPLITS,
    FindingCollector,
    Names,
    Unparsable,
    quote,
    read_bytes,
    read_first_bytes,
    read_text,
    read_text_range,
    split_lines,
    split_name,
)
from unstall.data.io.voc_xml import MAX_XML_BYTES, Element, NamedImages
from unstall.data.io.writer import DataSetWriter, get_annotated_size, tidy
from unstall.storage.prefetch import prefetch_files

SIGNS = "XML files with <annotation>, in Annotations/, beside the images or in a folder for each split"
IMAGE_FOLDERS = ("JPEGImages", "Images", "images", "jpegimages")
ANNOTATION_FOLDERS = ("Annotations", "annotations")
CLASS_LISTS = ("labels.txt", "classes.txt", "label_map.pbtxt", "labelmap.pbtxt")
LOOKED_AT_FILES = 20  # XML files of a folder, to recognise it
NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?|[+-]?(nan|inf(inity)?)", re.IGNORECASE)
MAX_TAG = 40  # characters of an element's name in a message
UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold
EDGES = ("xmin", "ymin", "xmax", "ymax")


def recognise(path: Path) -> str:
    if not path.is_dir():
        return ""
    files = [file for part in _parts(Folder(path)) for file in part.annotations[:LOOKED_AT_FILES]]
    found = next((file for file in files if b"<annotation" in read_first_bytes(path / file)), "")
    return f"{found} is an annotation" if found else ""


def read(path: Path, progress: Progress | None = None, labels: Path | None = None) -> DataSet:
    if not path.is_dir():
        raise InvalidInputError(f"Expected the folder of a Pascal VOC data set. Received: '{path}'.")
    folder = Folder(path)
    parts = _parts(folder)
    if not any(part.annotations for part in parts):
        raise InvalidInputError(f"There is no annotation in '{path}'. Looked for {SIGNS}.")
    reader = _Reader(folder, progress, sum(len(part.annotations) for part in parts))
    reader.read_classes(labels)
    for part in parts:
        reader.read_part(part)
    reader.note_shared_images()
    reader.notes.stop_if_nothing_was_read(len(reader.examples), path)
    return reader.data_set()


# --- which files there are ---


@dataclass(frozen=True)
class _Part:
    """A folder with annotations: the whole of a data set, one of its splits, or one year of the challenge."""

    base: str
    annotations: list[str]
    annotation_folder: str
    image_folders: list[str]
    split: str = ""


def _parts(folder: Folder) -> list[_Part]:
    nested = [part for base in ("", *folder.folders()) for part in _nested_parts(folder, base)]
    if nested:
        return [part for part in nested if not part.base] or nested
    places = [place for place in IMAGE_FOLDERS if folder.has_folder(place)]
    parts = [_Part("", folder.files("", [".xml"]), "", ["", *places])]
    for name in folder.folders():
        files = [f"{name}/{file}" for file in folder.files(name, [".xml"])]
        split = split_name(name) if split_name(name) in SPLITS.values() else ""
        parts.append(_Part(name, files, name, [name, *places], split))
    return [part for part in parts if part.annotations]


def _nested_parts(folder: Folder, base: str) -> Iterator[_Part]:
    """Annotations in a folder of their own, the images in another beside it."""
    split = split_name(base) if split_name(base) in SPLITS.values() else ""
    for name in ANNOTATION_FOLDERS:
        inner = posixpath.join(base, name)
        files = list(folder.walk(inner, [".xml"])) if folder.has_folder(inner) else []
        if files:
            places = [posixpath.join(base, place) for place in IMAGE_FOLDERS]
            yield _Part(base, files, inner, [place for place in [*places, inner] if folder.has_folder(place)], split)


# --- reading ---


@dataclass(frozen=True)
class _Object:
    name: str
    box: tuple[float, ...]
    is_difficult: bool
    is_truncated: bool
    line: int


class _Reader:
    def __init__(self, folder: Folder, progress: Progress | None, total: int) -> None:
        self.folder = folder
        self.notes = FindingCollector()
        self.examples: list[Example] = []
        self._names = Names()
        self._images = NamedImages(folder, self.notes)
        self._progress, self._total, self._done = progress, total, 0
        self._listed: tuple[list[str], list[int]] | None = None  # classes, where a file lists them
        self._indexes: dict[str, int] = {}
        self._files: list[str] = []

    def read_classes(self, labels: Path | None) -> None:
        found = label_map.find_list(self.folder, CLASS_LISTS)
        if labels is not None:
            self._listed = label_map.read_given_list(labels, self.notes, 1)
        elif found:
            self._files.append(found)
            try:
                self._listed = label_map.read_list(self.folder.root / found, found, self.notes, 1)
            except (Unparsable, OSError) as error:
                self.notes.add_unparsable(error, found)
        if self._listed:
            self._indexes = {name: index for index, name in reversed(list(enumerate(self._listed[0])))}

    def data_set(self) -> DataSet:
        """Classes that no file lists were numbered as they came: here they are put in order."""
        classes, numbers = self._listed or (sorted(self._indexes), list(range(1, len(self._indexes) + 1)))
        if not self._listed:
            order = np.empty(len(classes) + 1, np.int32)
            order[[self._indexes[name] for name in classes]] = np.arange(len(classes))
            order[-1] = UNKNOWN_CLASS  # which is -1, and so the last
            self.examples = [replace(example, classes=order[example.classes]) for example in self.examples]
        findings, files = tuple(self.notes.findings), tuple(self._files)
        return DataSet(self.folder.root, "voc", tuple(classes), tuple(numbers), self.examples, findings, files)

    def note_shared_images(self) -> None:
        self._images.note_shared()

    def read_part(self, part: _Part) -> None:
        with prefetch_files(
            self.folder.root, (read_text_range(self.folder.root / file, MAX_XML_BYTES) for file in part.annotations)
        ):
            self._read_annotations(part)

    def _read_annotations(self, part: _Part) -> None:
        splits = self._read_splits(part)
        has_lists = bool(splits)
        used: set[str] = set()
        for file in part.annotations:
            self._done += 1
            if self._progress:
                self._progress("reading annotations", self._done, self._total)
            key = posixpath.relpath(file, part.annotation_folder or ".").rpartition(".")[0]
            used.add(key)
            try:
                root = voc_xml.parse(read_bytes(self.folder.root / file, MAX_XML_BYTES))
                if root.tag != "annotation":
                    hint = f" {formats.CVAT}" if root.tag == "annotations" else ""
                    raise Unparsable(f"Expected an <annotation>. Received: <{root.tag[:MAX_TAG]}>.{hint}", line=root.line)
            except (Unparsable, OSError) as error:
                self.notes.add_unparsable(error, file, key)
                continue
            self._add_example(part, file, key, root, splits.pop(key, ["" if has_lists else part.split or _split_of(key)]), used)
        for key, names in splits.items():
            if key not in used:
                message = f"{quote(key)} is listed, and has no annotation."
                self.notes.add("annotation_missing", message, Origin(f"{_lists(part)}/{names[0]}.txt"), key)
        self._note_images_left(part, used)

    def _read_splits(self, part: _Part) -> dict[str, list[str]]:
        """The splits of each annotation by its name without the ending."""
        names = [name.removesuffix(".txt") for name in self.folder.files(_lists(part), [".txt"])]
        known = [name for name in names if name.lower() in SPLITS]
        splits: dict[str, list[str]] = {}
        for name in known or [name for name in names if name == "trainval"] or names:
            file = f"{_lists(part)}/{name}.txt"
            self._files.append(file)
            try:
                lines = split_lines(read_text(self.folder.root / file))
            except (Unparsable, OSError) as error:
                self.notes.add_unparsable(error, file)
                continue
            for line in lines:
                listed = line.strip()
                flagged = re.fullmatch(r"(\S+)\s+-?[01]", listed)  # the lists of one class have 1, 0 or -1 after the name
                if listed:
                    splits.setdefault(flagged[1] if flagged else listed, []).append(split_name(name))
        return splits

    def _note_images_left(self, part: _Part, used: set[str]) -> None:
        for place in part.image_folders:
            for name in self.folder.files(place, IMAGE_SUFFIXES):
                image = posixpath.join(place, name)
                if image not in used and name.rpartition(".")[0] not in used:
                    self.notes.add("annotation_missing", f"The image {quote(image)} has no annotation.", Origin(image), image)

    def _add_example(self, part: _Part, file: str, key: str, root: Element, splits: list[str], used: set[str]) -> None:
        resolved, wanted = self._images.of(part.image_folders, file, key, root)
        used.add(resolved.path)
        source = ImageSource(self.folder.root / resolved.path) if resolved.path else None
        objects = self._objects(root, file, wanted)
        classes = [self._class_index(item, file, wanted) for item in objects]
        size = root.find("size")
        width, height = (_size(size.text_of(side)) if size else None for side in ("width", "height"))
        for split in dict.fromkeys(splits):
            made = make_example(
                name=self._names.unique(wanted, split),
                image=source,
                size=(width, height),
                boxes=[item.box for item in objects],
                classes=classes,
                origin=Origin(file),
                difficult=[item.is_difficult for item in objects],
                truncated=[item.is_truncated for item in objects],
                box_lines=[item.line for item in objects],
                split=split,
            )
            self.examples.append(with_header_size(made, source) if source and not (width and height) else made)
        if not objects and root.find("object") is None:
            self.notes.add("annotation_empty", "No box is marked in this image.", Origin(file), wanted)

    def _objects(self, root: Element, file: str, example: str) -> list[_Object]:
        objects = []
        for element in root.children:
            if element.tag != "object":
                continue
            try:
                box = tuple(_edge(element, edge) for edge in EDGES)
            except Unparsable as error:
                self.notes.add_unparsable(error, file, example)
                continue
            is_difficult, is_truncated = (_is_set(element.text_of(flag)) for flag in ("difficult", "truncated"))
            objects.append(_Object(element.text_of("name"), box, is_difficult, is_truncated, element.line))
        return objects

    def _class_index(self, item: _Object, file: str, example: str) -> int:
        if item.name in self._indexes:
            return self._indexes[item.name]
        if self._listed is None and item.name:
            return self._indexes.setdefault(item.name, len(self._indexes))
        expected = f"one of the {len(self._indexes)} listed classes" if self._listed else "the name of a class"
        self.notes.add("class_unknown", f"Expected {expected}. Received: {quote(item.name)}.", Origin(file, item.line), example)
        return UNKNOWN_CLASS


def _split_of(key: str) -> str:
    """By the folder that it lies in, within the folder of annotations: annotations/train/a.xml."""
    folders = [split_name(part) for part in key.split("/")[:-1]]
    return next((part for part in folders if part in SPLITS.values()), "")


def _lists(part: _Part) -> str:
    return posixpath.join(part.base, "ImageSets/Main")


def _edge(element: Element, edge: str) -> float:
    box = element.find("bndbox")
    if box is None:
        raise Unparsable("This object has no <bndbox>. Expected one with xmin, ymin, xmax and ymax.", line=element.line)
    found = box.find(edge)
    text = found.text.strip() if found else ""
    if found is None or not NUMBER.fullmatch(text):
        line = found.line if found else box.line
        raise Unparsable(
            f"Expected a number. Received: {quote(text) if found else 'nothing'}.", line=line, field=f"bndbox.{edge}"
        )
    return float(text)


def _size(text: str) -> int | None:
    return round(float(text)) if re.fullmatch(r"\d{1,9}(\.\d*)?", text) else None


def _is_set(text: str) -> bool:
    return text.lower() in {"1", "true", "yes"}


# --- writing ---


def write(data: DataSet, path: Path, link: bool = False, progress: Progress | None = None) -> dict[str, int]:
    """What was left out, and how many of each."""
    writing = DataSetWriter(data, path, link, progress)
    writing.lose_changed_numbers(range(1, len(data.classes) + 1))
    for inner in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (path / inner).mkdir(parents=True, exist_ok=True)
    lists: dict[str, list[str]] = {}
    for example, name in writing.examples(is_flat=True):
        if example.image is not None:
            writing.place_image(example.image, path / "JPEGImages" / name)
        kept = writing.select_holdable(example)
        writing.lose("marks of a crowd", int(example.crowd[kept].sum()))
        text = _annotation(data, example, str(name), kept)
        (path / "Annotations" / name.with_suffix(".xml")).write_text(text, encoding="utf-8")
        if example.split:
            lists.setdefault(re.sub(r"[^\w.-]", "_", example.split), []).append(name.stem)
    for split, names in lists.items():
        (path / "ImageSets" / "Main" / f"{split}.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    names = [" ".join(name.split()) for name in data.classes]
    (path / "labels.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8", errors="replace")
    return dict(writing.lost)


def _annotation(data: DataSet, example: Example, name: str, kept: Flags) -> str:
    size = get_annotated_size(example)
    lines = ["<annotation>", "  <folder>JPEGImages</folder>", f"  <filename>{escape(name)}</filename>"]
    if size:
        lines.append(f"  <size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>")
    for box in np.flatnonzero(kept).tolist():
        edges = "".join(f"<{edge}>{tidy(value)}</{edge}>" for edge, value in zip(EDGES, example.boxes[box], strict=True))
        lines += [
            "  <object>",
            f"    <name>{escape(UNPRINTABLE.sub('_', ' '.join(data.classes[example.classes[box]].split())))}</name>",
            f"    <truncated>{int(example.truncated[box])}</truncated>",
            f"    <difficult>{int(example.difficult[box])}</difficult>",
            f"    <bndbox>{edges}</bndbox>",
            "  </object>",
        ]
    return "\n".join([*lines, "</annotation>", ""])
