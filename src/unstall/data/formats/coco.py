"""COCO: one JSON file for each split, with all its images, boxes and classes.

What it is
----------
The format of the COCO data set (instances_train2017.json) and of most tools that export "COCO". A box is left, top, width and
height in pixels; a class is a category with an id, and the ids may have gaps.

How it is recognised
--------------------
A JSON file with at least two of "images", "annotations" and "categories" among its keys: the path itself, or in the folder, in
its `annotations` folder (files of captions, keypoints and panoptic segments are passed over where there are instances), or in
a folder for each split (`train/_annotations.coco.json`, as Roboflow exports it).

What is read
------------
Images with their sizes, boxes, categories, `iscrowd`; also `difficult` and `truncated` where a box has these fields. Images are
looked for in the folder named like the split, `images/` and the like, beside the file; else in the one folder that has them.
Classes are in the order of their ids. An object with an outline and no `bbox` has the extent of its outline, polygon or
mask, as its box. NaN and Infinity are taken, as Python writes them. A wrong entry is named (`annotations[17].bbox`) and left
out; the rest is read. No training learns from outlines and keypoints here, but a copy in this format carries them.

What is written
---------------
`annotations/instances_SPLIT.json` and the images in a folder for each split. Category ids are kept where they are unique.
`difficult` and `truncated` are written as further fields of a box, which other readers pass over. Where the original is COCO,
too: areas, outlines (`segmentation`) and keypoints of every box that is what it was.

What it cannot hold
-------------------
Boxes without a class, and numbers that are not finite: both are left out and counted. Outlines and keypoints of boxes that were
changed by `unstall data check --fix` are counted, too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec
import numpy as np

from unstall.base.console import Progress, with_progress
from unstall.base.errors import InvalidInputError
from unstall.data.example import UNKNOWN_CLASS, DataSet, Example, ImageSource, Origin
from unstall.data.io import coco_json
from unstall.data.io.coco_json import Category, CocoExtras, DecodedInstances, Id, Places, as_number, decode, is_something
from unstall.data.io.coco_segmentation import NO_BOX
from unstall.data.io.columns import Columns, with_header_size
from unstall.data.io.folder import Folder
from unstall.data.io.reader import SPLITS, FindingCollector, Names, Unparsable, find_in, quote, read_bytes, split_name
from unstall.data.io.writer import DataSetWriter, get_annotated_size

SIGNS = "a JSON file with images, annotations and categories, in the folder, in annotations/ or in a folder for each split"
NOT_INSTANCES = ("captions", "person_keypoints", "panoptic", "stuff", "image_info")
LOOKED_AT_BYTES = 1 << 20  # at either end of a JSON file, to recognise it
KEYS = (b'"images"', b'"annotations"', b'"categories"', b'"image_id"')


def recognise(path: Path) -> str:
    if path.is_file():
        return f"{path.name} has COCO's keys" if path.suffix.lower() == ".json" and _has_keys(path) else ""
    if not path.is_dir():
        return ""
    files = _json_files(Folder(path))
    return f"{files[0]} has COCO's keys" if files else ""


def read(path: Path, progress: Progress | None = None, labels: Path | None = None) -> DataSet:
    if labels is not None:
        raise InvalidInputError(f"COCO has its classes in its own file; the label map '{labels}' has no use there.")
    root, files = _files(path)
    reader = _Reader(Folder(root), len(files) > 1)
    read_files = 0
    for file in with_progress(files, "reading annotations", progress):
        try:
            reader.read_file(file)
        except (Unparsable, OSError) as error:
            reader.notes.add_unparsable(error, file)
        else:
            read_files += 1
    reader.notes.stop_if_nothing_was_read(read_files, path)
    return reader.data_set(path, files)


# --- which files there are ---


def _files(path: Path) -> tuple[Path, list[str]]:
    """The folder that holds images and annotations, and the JSON files in it."""
    if not path.exists():
        raise InvalidInputError(f"'{path}' is not there.")
    if path.is_file():
        root = path.parent.parent if path.parent.name == "annotations" else path.parent
        return root, [path.relative_to(root).as_posix()]
    files = _json_files(Folder(path))
    if not files:
        raise InvalidInputError(f"There is no COCO file in '{path}'. Looked for {SIGNS}.")
    return path, files


def _json_files(folder: Folder) -> list[str]:
    """Of the first place that has any: annotations/, the folder itself, a folder for each split."""
    inner = [f"annotations/{name}" for name in folder.files("annotations", [".json"])]
    inner = [name for name in inner if not PurePosixPath(name).name.startswith(NOT_INSTANCES)] or inner
    nested = [f"{split}/{name}" for split in folder.folders() for name in folder.files(split, [".json"])]
    for place in (inner, folder.files("", [".json"]), nested):
        instances = [name for name in place if PurePosixPath(name).name.startswith("instances")]
        found = [name for name in instances or place if instances or _has_keys(folder.root / name)]
        if found:
            return found
    return []


def _has_keys(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            looked_at = file.read(LOOKED_AT_BYTES)
            file.seek(max(0, path.stat().st_size - LOOKED_AT_BYTES))
            looked_at += file.read(LOOKED_AT_BYTES)
    except OSError:
        return False
    return sum(key in looked_at for key in KEYS) >= 2


def _tag(file: str) -> str:
    """What the file calls its split: annotations/instances_train2017.json 'train2017', train/_annotations.coco.json 'train'."""
    path = PurePosixPath(file)
    name = re.sub(
        r"^(instances|annotations?|coco)?[_-]*|[._-]*(annotations?|coco|instances)?$", "", path.stem.removesuffix(".coco")
    )
    own_folder = path.parent.name if path.parent.name != "annotations" else ""
    is_by_name = split_name(name) in SPLITS.values() and split_name(own_folder) not in SPLITS.values()  # labels/train.json
    return name if is_by_name else own_folder or name


# --- reading ---


class _Reader:
    def __init__(self, folder: Folder, is_one_of_several: bool) -> None:
        self.folder = folder
        self.is_one_of_several = is_one_of_several  # then each file is a split, whatever its name
        self.notes = FindingCollector()
        self.names = Names()
        self.classes: list[str] = []
        self.numbers: list[int] = []
        self.examples: list[Example] = []

    def read_file(self, file: str) -> None:
        decoded = decode(read_bytes(self.folder.root / file, coco_json.MAX_JSON_BYTES))
        for place, message in decoded.wrong:
            self.notes.add("annotation_unparsable", message, Origin(file, field=place))
        rows = self._rows(decoded, file)
        columns = self._columns(decoded, rows, self._class_indexes(decoded, file), file)
        self._add_examples(decoded, columns, file)

    def data_set(self, path: Path, files: list[str]) -> DataSet:
        return DataSet(
            path,
            "coco",
            tuple(self.classes),
            tuple(self.numbers),
            self.examples,
            tuple(self.notes.findings),
            tuple(files),
            self.folder.root,
        )

    def _rows(self, decoded: DecodedInstances, file: str) -> dict[Id, int]:
        rows: dict[Id, int] = {}
        for row, image in enumerate(decoded.images):
            if image.id in rows:
                first = decoded.image_indexes[rows[image.id]]
                message = f"{quote(image.id)} is the id of images[{first}] too. Expected one of its own."
                origin = Origin(file, field=f"images[{decoded.image_indexes[row]}].id")
                self.notes.add("annotation_unparsable", message, origin, image.file_name)
            else:
                rows[image.id] = row
        return rows

    def _class_indexes(self, decoded: DecodedInstances, file: str) -> dict[Id, int]:
        """Category id to index. The classes of a further file are those of the first where their names are the same."""
        indexes: dict[Id, int] = {}
        origin = Origin(file, field="categories")
        earlier = {name: index for index, name in reversed(list(enumerate(self.classes)))}
        for category, number in _numbered(decoded.categories):
            if category.id in indexes:
                message = f"The id {quote(category.id)} is given twice; {quote(category.name)} is passed over."
                self.notes.add("label_map_duplicates", message, origin)
                continue
            index = earlier.get(category.name)
            if index is None:
                index = len(self.classes)
                self.classes.append(category.name)
                self.numbers.append(number)
            elif self.numbers[index] != number:
                message = f"{quote(category.name)} has the id {number} here, and {self.numbers[index]} in another file."
                self.notes.add("label_map_duplicates", message, origin)
            indexes[category.id] = index
        names = [self.classes[index] for index in indexes.values()]
        self.notes.add_duplicates(names, origin)
        self.notes.add_background(names, origin)
        return indexes

    def _columns(self, decoded: DecodedInstances, rows: dict[Id, int], indexes: dict[Id, int], file: str) -> Columns:
        annotations, count = decoded.annotations, len(decoded.annotations)
        row_of, class_of = Places(rows.items()), Places(indexes.items())
        row = np.fromiter((row_of.get(entry.image_id, -1) for entry in annotations), np.int32, count)
        boxes = np.fromiter(chain.from_iterable(entry.bbox or NO_BOX for entry in annotations), np.float64, 4 * count).reshape(
            -1, 4
        )
        boxes[:, 2:] += boxes[:, :2]
        classes = np.fromiter((class_of.get(entry.category_id, UNKNOWN_CLASS) for entry in annotations), np.int32, count)
        lines = np.array(decoded.annotation_indexes, np.int32)
        for index in np.flatnonzero(row < 0).tolist():
            message = f"There is no image with the id {quote(annotations[index].image_id)}; the box is left out."
            self.notes.add("image_missing", message, Origin(file, field=f"annotations[{lines[index]}].image_id"))
        for index in np.flatnonzero((classes < 0) & (row >= 0)).tolist():
            message = f"There is no category with the id {quote(annotations[index].category_id)}."
            image = decoded.images[row[index]]
            origin = Origin(file, field=f"annotations[{lines[index]}].category_id")
            self.notes.add("class_unknown", message, origin, image.file_name)
        crowd = np.fromiter((bool(entry.iscrowd) for entry in annotations), np.bool_, count)
        difficult = np.fromiter((bool(entry.difficult) for entry in annotations), np.bool_, count)
        truncated = np.fromiter((bool(entry.truncated) for entry in annotations), np.bool_, count)
        areas = np.fromiter((_area(entry.area) for entry in annotations), np.float64, count)
        outlines = np.fromiter((is_something(entry.segmentation) for entry in annotations), np.bool_, count)
        keypoints = np.fromiter((is_something(entry.keypoints) for entry in annotations), np.bool_, count)
        flags = (crowd, difficult, truncated)
        return Columns(row, boxes, classes, flags, lines, len(decoded.images), areas, outlines, keypoints)

    def _add_examples(self, decoded: DecodedInstances, columns: Columns, file: str) -> None:
        tag = _tag(file)
        split = split_name(tag) if self.is_one_of_several or split_name(tag) in SPLITS.values() else ""
        bases = self._image_folders(file, tag)
        found = [find_in(self.folder, bases, image.file_name) for image in decoded.images]
        is_without_images = bool(found) and all(resolved.how == "missing" for resolved in found)
        elsewhere = self.folder.holding(decoded.images[0].file_name) if is_without_images else ""
        if elsewhere:
            found = [find_in(self.folder, [elsewhere], image.file_name) for image in decoded.images]
            is_without_images = False
        if is_without_images:
            looked_in, first = ", ".join(base or "." for base in bases), quote(decoded.images[0].file_name)
            message = f"None of the {len(found):,} images is there. Looked in {looked_in}; the first is {first}."
            self.notes.add("image_missing", message, Origin(file, field="images"))
        for row, (image, resolved) in enumerate(zip(decoded.images, found, strict=True)):
            place = f"images[{decoded.image_indexes[row]}]"
            name = self.names.unique(resolved.path if resolved.how == "foreign" else image.file_name, split)
            if resolved.how != "found" and not is_without_images:
                self.notes.add_unresolved(resolved, image.file_name, Origin(file, field=f"{place}.file_name"), name)
            source = ImageSource(self.folder.root / resolved.path) if resolved.path else None
            origin = Origin(file, field=f"{place}: annotations[{{}}].bbox")
            size = (_whole_number(image.width), _whole_number(image.height))
            example = columns.example(row, name, source, size, origin, split)
            if None in size and source is not None:
                example = with_header_size(example, source)
            if not example.count:
                self.notes.add("annotation_empty", "No box is marked in this image.", Origin(file, field=place), name)
            self.examples.append(example)

    def _image_folders(self, file: str, tag: str) -> list[str]:
        """Where the images may lie, those that are there, the likeliest first."""
        beside = PurePosixPath(file).parent.as_posix().replace(".", "")
        kinds = dict.fromkeys(
            (tag, split_name(tag), *(name for name in self.folder.folders() if split_name(name) == split_name(tag)))
        )
        wanted = [beside] if beside not in {"", "annotations"} else []
        wanted += [place for kind in kinds if kind for place in (kind, f"images/{kind}", f"{kind}/images")]
        wanted += ["images", "JPEGImages", "data", "", beside]
        return [place for place in dict.fromkeys(wanted) if self.folder.has_folder(place)]


def _numbered(categories: Sequence[Category]) -> list[tuple[Category, int]]:
    """In the order of their ids, with the number that each is; one whose id is a name comes after them, by its name."""
    keys = [as_number(category.id) for category in categories]
    order = sorted(range(len(keys)), key=lambda at: (isinstance(keys[at], str), keys[at]))
    after = max((int(key) for key in keys if not isinstance(key, str)), default=0)
    named = [at for at in order if isinstance(keys[at], str)]
    numbers = {at: after + 1 + place for place, at in enumerate(named)}
    return [(categories[at], numbers[at] if at in numbers else int(keys[at])) for at in order]


def _area(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else float("nan")


def _own_area(example: Example, box: int, of_box: float) -> float:
    """As the original says it: of the object's outline. Else that of the box."""
    own = float(example.areas[box]) if example.areas is not None else float("nan")
    return own if np.isfinite(own) else of_box


def _whole_number(value: int | float | str | None) -> int | None:
    """A size; None where it is none, so that the image itself is asked."""
    if isinstance(value, str):
        value = float(value) if re.fullmatch(r"\d{1,9}(\.\d*)?", value.strip()) else None
    return round(value) if value is not None and abs(value) < 1e9 else None


# --- writing ---


def write(data: DataSet, path: Path, link: bool = False, progress: Progress | None = None) -> dict[str, int]:
    """What was left out, and how many of each."""
    writing = DataSetWriter(data, path, link, progress, holds_outlines=True)
    further = CocoExtras(_files(data.path)[0]) if data.format == "coco" and any(map(_has_further, data.examples)) else None
    numbers = list(data.class_numbers)
    if len(set(numbers)) < len(numbers):
        numbers = list(range(1, len(numbers) + 1))
    writing.lose_changed_numbers(numbers)
    (path / "annotations").mkdir(parents=True, exist_ok=True)
    files = {split: _SplitFile(path, split) for split in data.splits() or {"": []}}
    for example, name in writing.examples():
        file = files[example.split]
        if example.image is not None:
            writing.place_image(example.image, path / file.folder / name)
        file.add(example, str(name), numbers, writing, further)
    categories = [
        {"id": number, "name": name, **(further.of_class(name) if further is not None else {})}
        for number, name in zip(numbers, data.classes, strict=True)
    ]
    for file in files.values():
        file.finish(categories)
    return dict(writing.lost)


def _has_further(example: Example) -> bool:
    return any(has is not None and bool(has.any()) for has in (example.outlines, example.keypoints))


class _SplitFile:
    """One JSON file, written entry by entry: images at once, boxes into a file of their own that is appended at the end."""

    def __init__(self, path: Path, split: str) -> None:
        safe = re.sub(r"[^\w.-]", "_", split)
        self.folder = safe or "images"
        self._path = path / "annotations" / (f"instances_{safe}.json" if safe else "instances.json")
        self._images = self._path.open("wb")
        self._boxes = self._path.with_suffix(".boxes").open("w+b")
        self._images.write(b'{"images": [')
        self._image_count = self._box_count = 0

    def add(self, example: Example, name: str, numbers: list[int], writing: DataSetWriter, further: CocoExtras | None) -> None:
        self._image_count += 1
        size = get_annotated_size(example)
        entry = {
            "id": self._image_count,
            "file_name": name,
            "width": size[0] if size else None,
            "height": size[1] if size else None,
        }
        _append(self._images, {key: value for key, value in entry.items() if value is not None}, self._image_count == 1)
        kept = writing.select_holdable(example)
        gone = np.zeros(example.count, np.bool_)
        for box in np.flatnonzero(kept):
            self._box_count += 1
            entry = self._box(example, int(box), numbers)
            carried = further.of_box(example, int(box)) if further is not None else None
            gone[box] = carried is None
            _append(self._boxes, {**entry, **(carried or {})}, self._box_count == 1)
        writing.report_further_losses(example, gone, ": the box was changed, or they are not finite")

    def _box(self, example: Example, box: int, numbers: list[int]) -> dict[str, object]:
        left, top, right, bottom = example.boxes[box].tolist()
        entry: dict[str, object] = {
            "id": self._box_count,
            "image_id": self._image_count,
            "category_id": numbers[example.classes[box]],
            "bbox": [left, top, right - left, bottom - top],
            "area": _own_area(example, box, max(0.0, right - left) * max(0.0, bottom - top)),
            "iscrowd": int(example.crowd[box]),
        }
        for key, flags in (("difficult", example.difficult), ("truncated", example.truncated)):
            if flags[box]:
                entry[key] = 1
        return entry

    def finish(self, categories: list[dict[str, object]]) -> None:
        with self._images as out, self._boxes as boxes:
            out.write(b'\n],\n"annotations": [')
            boxes.seek(0)
            shutil.copyfileobj(boxes, out)
            out.write(b'\n],\n"categories": ' + msgspec.json.encode(categories) + b"}\n")
        self._path.with_suffix(".boxes").unlink()


def _append(file: BinaryIO, entry: dict[str, object], is_first: bool) -> None:
    file.write((b"\n" if is_first else b",\n") + msgspec.json.encode(entry))
