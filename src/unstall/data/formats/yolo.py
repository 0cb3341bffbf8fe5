"""YOLO (Ultralytics, Darknet): one text file for each image, boxes as shares of its size.

What it is
----------
A line for each box: class, centre x, centre y, width, height, all but the class divided by the size of the image. A line with
more points is a polygon; its box is its extent. Where `data.yaml` has `kpt_shape`, the points of a body may follow
a box; they are passed over. Classes are numbered from 0 and named in `data.yaml` or `classes.txt`.

How it is recognised
--------------------
A YAML file with `names` (the path itself, or in the folder); or folders `labels` and `images`; or `classes.txt`, `obj.names` or
`_darknet.labels` with text files beside images.

What is read
------------
`names` (a list, or numbers with names), `nc`, `path`, and `train`, `val`, `test`: a folder, a list of folders, or a text file
that lists images. They may lie elsewhere, as Ultralytics keeps them, where data.yaml is named by itself. Without them every
image in the folder is read, and its split is the folder it lies in. The labels of `images/a.jpg` are in `labels/a.txt`, else
beside the image. Sizes are read from the headers of the images, and shares are of the image as EXIF turns it: so the programs
that label images show it, and so Ultralytics trains. An image without a label file is one without boxes.

What is written
---------------
`images/SPLIT`, `labels/SPLIT` and `data.yaml`. Numbers have all their digits, so that reading gives the same boxes again.

What it cannot hold
-------------------
Crowds, difficult and truncated boxes (the boxes are kept, the marks are not), numbers of classes, boxes without a class, boxes
of an image that is not there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unstall.base.console import Progress, with_progress
from unstall.base.errors import InvalidInputError
from unstall.data.example import UNKNOWN_CLASS, DataSet, Example, ImageSource, Origin
from unstall.data.io import label_map
from unstall.data.io.columns import create_example as make_example
from unstall.data.io.folder import Folder, FoundPath
from unstall.data.io.images import read_header
from unstall.data.io.reader import (
    IMAGE_SUFFIXES,
    SPLITS,
    FindingCollector,
    Names,
    Unparsable,
    as_text,
    find_in,
    quote,
    read_first_bytes,
    read_text,
    split_lines,
    split_name,
)
from unstall.data.io.writer import DataSetWriter, read_image_size
from unstall.data.io.yolo_files import (
    Label,
    Settings,
    find_label_file,
    format_labels,
    format_settings,
    is_settings,
    locate_label_file,
    read_label_ranges,
    read_labels,
    read_settings,
    refuse_what_leads_out,
    resolve_target,
)
from unstall.storage.prefetch import prefetch_files

SIGNS = "a YAML file with names, folders labels/ and images/, or classes.txt with text files beside images"
CLASS_LISTS = ("classes.txt", "labels/classes.txt", "obj.names", "_darknet.labels", "train/_darknet.labels")
NOT_IN_NAMES = r"[^\w.-]"
UNDIVIDED = "undivided"  # the key of images without a split, where others have one
MAX_CLASSES = 10_000  # where no file names them: a higher number is a mistake


def recognise(path: Path) -> str:
    if path.is_file():
        return f"{path.name} has names" if _is_yaml(path) else ""
    if not path.is_dir():
        return ""
    folder = Folder(path)
    settings = _settings_file(folder)
    if settings:
        return f"{settings} has names"
    labels = next((name for name in _label_folders(folder) if any(folder.walk(name, [".txt"]))), "")
    if labels:
        return f"{labels} has text files"
    listed = label_map.find_list(folder, CLASS_LISTS)
    return f"{listed} and text files beside images" if listed and _has_labels_beside_images(folder) else ""


def read(path: Path, progress: Progress | None = None, labels: Path | None = None) -> DataSet:
    if not path.exists():
        raise InvalidInputError(f"'{path}' is not there.")
    reader = _Reader(Folder(path if path.is_dir() else path.parent), progress)
    settings = reader.read_settings(path.name if path.is_file() else _settings_file(reader.folder))
    if path.is_file():
        settings = reader.follow(path, settings)
    reader.read_classes(settings, labels)
    reader.read_images(settings)
    if not reader.examples:
        if path.is_dir():
            refuse_what_leads_out(path / _settings_file(reader.folder), settings)
        reader.notes.stop_if_nothing_was_read(0, path)
        raise InvalidInputError(f"There is no image in '{reader.folder.root}'. Looked for {SIGNS}.")
    return reader.data_set(path)


# --- which files there are ---


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in {".yaml", ".yml"} and is_settings(as_text(read_first_bytes(path, 1 << 20)))


def _settings_file(folder: Folder) -> str:
    names = [name for name in folder.files("", [".yaml", ".yml"]) if _is_yaml(folder.root / name)]
    return "data.yaml" if "data.yaml" in names else names[0] if names else ""


def _label_folders(folder: Folder) -> list[str]:
    """labels/ beside images/, at the top or in a folder for each split."""
    places = ["", *(name for name in folder.folders() if split_name(name) in SPLITS.values())]
    pairs = [(posixpath.join(place, "images"), posixpath.join(place, "labels")) for place in places]
    return [labels for images, labels in pairs if folder.has_folder(images) and folder.has_folder(labels)]


def _has_labels_beside_images(folder: Folder) -> bool:
    images = {image.rpartition(".")[0] for image in folder.walk("", IMAGE_SUFFIXES)}
    return any(text.rpartition(".")[0] in images for text in folder.walk("", [".txt"]))


# --- reading ---


class _Reader:
    def __init__(self, folder: Folder, progress: Progress | None) -> None:
        self.folder = folder
        self.notes = FindingCollector()
        self.examples: list[Example] = []
        self._names = Names()
        self._progress = progress
        self._files: list[str] = []
        self._indexes: dict[int, int] | None = None  # number of a class to its index; None where no file names them
        self._classes: list[str] = []
        self._numbers: list[int] = []
        self._used: set[str] = set()  # label files
        self._pose_numbers = 0
        self._lost_base = ""

    def read_settings(self, file: str) -> Settings:
        if not file:
            return Settings()
        self._files.append(file)
        try:
            settings = read_settings(self.folder.root / file)
        except (Unparsable, OSError) as error:
            self.notes.add_unparsable(error, file)
            return Settings()
        self._pose_numbers = settings.pose_numbers
        return settings

    def follow(self, file: Path, settings: Settings) -> Settings:
        """To the images of a data.yaml that was named by itself, wherever they lie."""
        root, settings = resolve_target(file, settings)
        if root != self.folder.root:
            self.folder = Folder(root)
            self._files = [str(file)]
        return settings

    def read_classes(self, settings: Settings, labels: Path | None) -> None:
        listed = label_map.find_list(self.folder, CLASS_LISTS)
        if labels is not None:
            self._classes, self._numbers = label_map.read_given_list(labels, self.notes, 0)
        elif settings.names:
            self._numbers = sorted(settings.names)
            self._classes = [settings.names[number] for number in self._numbers]
            self._note_names(settings, Origin(self._files[0], field="names"))
        elif listed:
            self._files.append(listed)
            try:
                self._classes, self._numbers = label_map.read_list(self.folder.root / listed, listed, self.notes, 0)
            except (Unparsable, OSError) as error:
                self.notes.add_unparsable(error, listed)
        if self._classes:
            self._indexes = {number: index for index, number in enumerate(self._numbers)}

    def _note_names(self, settings: Settings, origin: Origin) -> None:
        self.notes.add_duplicates(self._classes, origin)
        self.notes.add_background(self._classes, origin)
        if self._numbers[-1] != len(self._numbers) - 1:
            message = (
                f"{len(self._numbers)} classes have numbers up to {self._numbers[-1]}. Expected 0 to {len(self._numbers) - 1}."
            )
            self.notes.add("label_map_gaps", message, origin)
        if settings.count is not None and settings.count != len(self._numbers):
            message = f"nc is {settings.count}, and there are {len(self._numbers)} names. Expected as many."
            self.notes.add("label_map_gaps", message, Origin(origin.file, field="nc"))

    def data_set(self, path: Path) -> DataSet:
        if self._indexes is None:
            most = max((int(example.classes.max()) for example in self.examples if example.count), default=-1)
            self._classes, self._numbers = [str(number) for number in range(most + 1)], list(range(most + 1))
        findings, files = tuple(self.notes.findings), tuple(self._files)
        classes, numbers = tuple(self._classes), tuple(self._numbers)
        return DataSet(path, "yolo", classes, numbers, self.examples, findings, files, self.folder.root)

    # --- images ---

    def read_images(self, settings: Settings) -> None:
        found = list(self._images_of(settings)) if settings.splits else []
        if not found:
            images = self.folder.walk("", IMAGE_SUFFIXES)
            found = [(_name_of(image), _split_of(image), FoundPath(image, "found")) for image in images]
        without: dict[str, list[Example]] = {}  # split to its images without a label file
        counts: dict[str, int] = {}
        with prefetch_files(self.folder.root, read_label_ranges(self.folder, [resolved.path for _, _, resolved in found])):
            for name, split, resolved in with_progress(found, "reading labels", self._progress):
                counts[split] = counts.get(split, 0) + 1
                if not self._add_example(name, split, resolved):
                    without.setdefault(split, []).append(self.examples[-1])
        for split, examples in without.items():
            if len(examples) == counts[split]:
                message = f"No image of {split or 'the data set'} has a label file. Expected labels/a.txt for images/a.jpg."
                self.notes.add("annotation_missing", message, Origin(split or "."))
                continue
            for example in examples:
                message = "This image has no label file: it is taken as one without boxes."
                self.notes.add("annotation_missing", message, example.origin, example.name)
        self._note_labels_left()

    def _images_of(self, settings: Settings) -> Iterator[tuple[str, str, FoundPath]]:
        """The name, split and path of each image that data.yaml leads to."""
        base = self.folder.inside("", settings.base) or ""
        base = base if self.folder.has_folder(base) else ""
        self._lost_base = f", and neither is 'path', {quote(settings.base)}" if settings.base and not base else ""
        for key, places in settings.splits.items():
            split = split_name(key) if key != UNDIVIDED else ""
            for place in places:
                yield from self._images_in(base, place, split, key)

    def _images_in(self, base: str, place: str, split: str, key: str) -> Iterator[tuple[str, str, FoundPath]]:
        inside = self.folder.inside(base, place)
        if not self._is_there(inside):
            # Roboflow writes ../train/images for train/images; Ultralytics takes that, too.
            stripped = self.folder.inside(base, re.sub(r"^(\.\./)+", "", place))
            inside = stripped if stripped and self.folder.has_folder(stripped) else inside
        if (inside is None or ("\\" in place and not self._is_there(inside))) and self.folder.folder_end(place):
            inside = self.folder.folder_end(place)
            message = f"{quote(place)} is a path of another machine. {quote(inside)} is taken for it."
            self.notes.add("path_foreign", message, Origin(self._files[0], field=key))
        if inside is not None and inside.lower().endswith(".txt") and self.folder.find("", inside).how == "found":
            yield from self._listed_images(inside, base, split)
        elif inside is not None and self.folder.has_folder(inside):
            for image in self.folder.walk(inside if inside != "." else "", IMAGE_SUFFIXES):
                yield posixpath.relpath(image, inside), split, FoundPath(image, "found")
        elif key in SPLITS and split != "test":  # which exports name though they have none; and no training asks for it
            problem, said = (
                ("path_climbs_out", "leads out of the data set") if inside is None else ("image_missing", "is not there")
            )
            said = f"{quote(place)} {said}{self._lost_base}. Expected a folder of images inside it."
            self.notes.add(problem, said, Origin(self._files[0], field=key))

    def _is_there(self, inside: str | None) -> bool:
        return inside is not None and (self.folder.has_folder(inside) or self.folder.find("", inside).how == "found")

    def _listed_images(self, file: str, base: str, split: str) -> Iterator[tuple[str, str, FoundPath]]:
        self._files.append(file)
        try:
            lines = split_lines(read_text(self.folder.root / file))
        except (Unparsable, OSError) as error:
            self.notes.add_unparsable(error, file)
            return
        bases = list(dict.fromkeys([posixpath.dirname(file), base, ""]))
        for number, line in enumerate(lines, start=1):
            text = line.strip()
            if not text:
                continue
            resolved = find_in(self.folder, bases, text)
            if resolved.how != "found":
                self.notes.add_unresolved(resolved, text, Origin(file, number), text)
            yield resolved.path if resolved.how == "foreign" else text.removeprefix("./"), split, resolved

    def _add_example(self, name: str, split: str, resolved: FoundPath) -> bool:
        """Whether it has a label file."""
        inside = resolved.path or self.folder.inside("", name) or ""
        file = find_label_file(self.folder, inside) if inside else ""
        labels: list[Label] = []
        if file:
            self._used.add(file)
            labels = self._labels(file, name)
        source = ImageSource(self.folder.root / resolved.path) if resolved.path else None
        size = read_header(source) if source else None
        shares = np.array([label.box for label in labels], np.float64).reshape(-1, 4)
        is_known = size is not None and bool(size.width and size.height)
        scale = size.seen_size * 2 if size is not None and is_known else (1, 1, 1, 1)
        example = make_example(
            name=self._names.unique(name, split),
            image=source,
            size=scale[:2] if is_known else (None, None),
            boxes=list(shares * np.array(scale, np.float64)),
            classes=[self._class_index(label, file, name) for label in labels],
            origin=Origin(file or resolved.path or name),
            box_lines=[label.line for label in labels],
            split=split,
            is_normalised=bool(labels) and not is_known,
            size_is_from_image=True,
        )
        if file and not labels:
            self.notes.add("annotation_empty", "No box is marked in this image.", Origin(file), example.name)
        self.examples.append(example)
        return bool(file)

    def _labels(self, file: str, example: str) -> list[Label]:
        try:
            labels, wrong = read_labels(read_text(self.folder.root / file), self._pose_numbers)
        except (Unparsable, OSError) as error:
            self.notes.add_unparsable(error, file, example)
            return []
        for line, message in wrong:
            self.notes.add("annotation_unparsable", message, Origin(file, line), example)
        return labels

    def _class_index(self, label: Label, file: str, example: str) -> int:
        number = int(label.number) if label.number.is_integer() else -1
        if self._indexes is None and 0 <= number < MAX_CLASSES:
            return number
        if self._indexes is not None and number in self._indexes:
            return self._indexes[number]
        most = max(self._indexes, default=0) if self._indexes is not None else MAX_CLASSES - 1
        message = f"Expected the number of a class, 0 to {most}. Received: {label.number:g}."
        self.notes.add("class_out_of_range", message, Origin(file, label.line), example)
        return UNKNOWN_CLASS

    def _note_labels_left(self) -> None:
        """Label files of no image, in the folders that label files were read from; lists of classes are none."""
        for place in sorted({posixpath.dirname(file) for file in self._used}):
            if "labels" not in place.split("/"):
                continue
            for name in self.folder.files(place, [".txt"]):
                file = posixpath.join(place, name)
                if file not in self._used and name != "classes.txt":
                    self.notes.add("image_missing", f"The labels {quote(file)} have no image.", Origin(file))


def _split_of(image: str) -> str:
    folders = [split_name(part) for part in image.split("/")[:-1]]
    return next((part for part in folders if part in SPLITS.values()), "")


def _name_of(image: str) -> str:
    """Without the folders that say that it is an image, and of which split."""
    *folders, name = image.split("/")
    return "/".join([*(part for part in folders if part != "images" and split_name(part) not in SPLITS.values()), name])


# --- writing ---


def write(data: DataSet, path: Path, link: bool = False, progress: Progress | None = None) -> dict[str, int]:
    """What was left out, and how many of each."""
    writing = DataSetWriter(data, path, link, progress)
    writing.lose_changed_numbers(range(len(data.classes)))
    path.mkdir(parents=True, exist_ok=True)
    folders = _image_folders(data)
    for example, name in writing.examples():
        size = read_image_size(example)
        if example.image is None or size is None:
            writing.lose("boxes of images that are not there or have no known size", example.count)
            writing.lose("images that are not there or have no known size")
            continue
        image = f"{folders[example.split]}/{name}"
        if not writing.place_image(example.image, path / image):
            continue
        kept = writing.select_holdable(example)
        for flag in ("crowd", "difficult", "truncated"):
            writing.lose(f"marks '{flag}'", int(getattr(example, flag)[kept].sum()))
        labels = path / locate_label_file(image)
        writing.make_folder(labels.parent)
        labels.write_text(format_labels(example, kept, size), encoding="utf-8")
    (path / "data.yaml").write_text(format_settings(folders.values(), data.classes), encoding="utf-8")
    return dict(writing.lost)


def _image_folders(data: DataSet) -> dict[str, str]:
    """Of each split. Images of none, beside those of others, need a folder and a key: data.yaml would leave them out."""
    splits = data.splits()
    undivided = f"images/{UNDIVIDED}" if any(splits) else "images"
    return {split: f"images/{re.sub(NOT_IN_NAMES, '_', split)}" if split else undivided for split in splits}
