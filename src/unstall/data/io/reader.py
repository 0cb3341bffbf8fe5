"""What the readers of all formats share: findings, files read within bounds, names that are told apart, splits."""

from __future__ import annotations

import codecs
import errno
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Example, Finding, ImageSource, Origin, create_no_boxes
from unstall.data.io.folder import MISSING, Folder, FoundPath
from unstall.storage import resolve_path
from unstall.storage.bucket_path import BucketPath, is_in_bucket

IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
MAX_SHOWN = 60  # characters of a value in a message
MAX_TEXT_BYTES = 64 << 20  # of an annotation of one image, a class list or a split file; real ones have a few kilobytes
BACKGROUND_NAMES = frozenset({"background", "__background__", "bg"})


class Unparsable(Exception):
    """One file of a data set that cannot be read, and where. Never leaves the formats: it becomes a finding."""

    def __init__(self, message: str, line: int | None = None, field: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.field = field


@dataclass
class FindingCollector:
    """The findings of one reading, in the order they were met."""

    findings: list[Finding] = field(default_factory=list)

    def add(self, problem: str, message: str, origin: Origin, example: str = "", box: int | None = None) -> None:
        self.findings.append(Finding(problem, message, origin, example, box))

    def add_unparsable(self, error: Unparsable | OSError, file: str, example: str = "") -> None:
        if isinstance(error, OSError):
            error = Unparsable(f"Cannot be read: {error.strerror or error}.")
        self.add("annotation_unparsable", str(error), Origin(file, error.line, error.field), example)

    def stop_if_nothing_was_read(self, read: int, path: Path) -> None:
        """Only what makes reading impossible at all is an error; one bad file among good ones is a finding."""
        if read == 0 and self.findings:
            first = self.findings[0]
            raise InvalidInputError(f"Nothing of '{path}' can be read. {first.origin}: {first.message}")

    def add_background(self, classes: Sequence[str], origin: Origin) -> None:
        """A class list that begins with the background, where classes are numbered from the first real one."""
        if classes and classes[0].lower() in BACKGROUND_NAMES:
            self.add("label_map_background", f"The first class is {quote(classes[0])}. Expected real classes only.", origin)

    def add_duplicates(self, classes: Sequence[str], origin: Origin) -> None:
        seen: set[str] = set()
        for name in classes:
            if name in seen:
                self.add("label_map_duplicates", f"The class {quote(name)} is listed twice.", origin)
            seen.add(name)

    def add_unresolved(self, resolved: FoundPath, text: str, origin: Origin, example: str) -> None:
        """What is wrong with the path of an image, if anything."""
        if resolved.how == "climbs":
            message = f"{quote(text)} leads out of the data set. Expected a path inside it; the file was not opened."
            self.add("path_climbs_out", message, origin, example)
        elif resolved.how == "case":
            message = f"{quote(text)} is there only as {quote(resolved.path)}: {_how_it_differs(text, resolved.path)}."
            self.add("path_case_differs", message, origin, example)
        elif resolved.how == "foreign":
            is_encoded = "%" in text and resolved.path.rpartition("/")[2] not in text
            what = "is written as for a web page" if is_encoded else "is a path of another machine"
            message = f"{quote(text)} {what}. {quote(resolved.path)} is taken for it."
            self.add("path_foreign", message, origin, example)
        elif resolved.how == "missing":
            hint = " It has backslashes, which are no separators here." if "\\" in text else ""
            self.add("image_missing", f"There is no image {quote(text)}.{hint}", origin, example)


def _how_it_differs(text: str, path: str) -> str:
    said, there = (unicodedata.normalize("NFC", each).rpartition("/")[2] for each in (text, path))
    return "its accents are stored in another way (NFC, NFD)" if said == there else "upper and lower case differ"


def quote(value: object) -> str:
    """A value from a file as it may stand in a message: short, on one line, printable anywhere."""
    if isinstance(value, str):
        shown = value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…"
        return repr(shown).replace("\\\\", "\\") if shown.isprintable() else ascii(shown)
    return repr(value)[:MAX_SHOWN]


def read_bytes(path: Path, most: int = MAX_TEXT_BYTES) -> bytes:
    data = read_bytes_of_plain(path, most + 1)
    if len(data) > most:
        raise Unparsable(f"Larger than {most:,} bytes, the most that is read of such a file.")
    return data


def read_bytes_of_plain(path: Path, count: int) -> bytes:
    if isinstance(path, BucketPath):
        return path.read_range(0, count) if count <= MAX_TEXT_BYTES + 1 else path.read_at_most(count)
    if not path.is_file():  # a pipe or a device would be waited for
        raise FileNotFoundError(errno.ENOENT, "there is no such plain file", str(path))
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # Python sets aside as much memory as it is asked to read
        return file.read(min(count, size))


def read_text_range(path: Path, most: int = MAX_TEXT_BYTES) -> tuple[Path, int, int]:
    """For `expecting`: what `read_bytes` will ask a bucket for."""
    return path, 0, most + 1


def read_first_bytes(path: Path, count: int = 4096) -> bytes:
    """To recognise a file by; nothing of one that cannot be read."""
    try:
        return read_bytes_of_plain(path, count)
    except OSError:
        return b""


def read_text(path: Path, most: int = MAX_TEXT_BYTES) -> str:
    return as_text(read_bytes(path, most))


def as_text(data: bytes) -> str:
    """UTF-8, UTF-16 with its mark, or what remains: Latin-1, in which every file can be read."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split_lines(text: str) -> list[str]:
    """Split at the ends of lines alone; str.splitlines would also split at a form feed within one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def build_class_list(path: Path) -> list[str]:
    """One name to a line: classes.txt, labels.txt. Empty lines at the end are none."""
    names = [line.strip() for line in split_lines(read_text(path))]
    while names and not names[-1]:
        names.pop()
    return names


def split_name(text: str) -> str:
    """'train2017', 'valid' and 'Test' are the splits that everyone means; another name stays as it is."""
    match = re.fullmatch(r"([a-z]+?)[_-]?\d*", text.lower())
    return SPLITS.get(match[1], text) if match else text


class Names:
    """Gives each example a name of its own: what it has, else with the split before it, else with a number in it."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._counts: dict[str, int] = {}  # so that a name which all share does not take longer and longer

    def unique(self, wanted: str, split: str) -> str:
        name = wanted
        if name in self._given and split:
            name = f"{split}/{wanted}"
        stem, dot, suffix = wanted.rpartition(".")
        while name in self._given:
            self._counts[wanted] = self._counts.get(wanted, 1) + 1
            name = f"{stem}#{self._counts[wanted]}{dot}{suffix}"
        self._given.add(name)
        return name


def find_in(folder: Folder, bases: Iterable[str], text: str) -> FoundPath:
    """The first of these places that holds the file; by its exact name rather than by another case."""
    best = FoundPath("", MISSING)
    bases = list(bases)
    for base in bases:
        resolved = folder.find(base, text)
        if resolved.how == "found":
            return resolved
        if resolved.how == "case" or (best.how == "missing" and resolved.how == "climbs"):
            best = resolved
    if best.how in {"climbs", "missing"} and "%" in text and unquote(text) != text:  # written as for a web page: a%20b.jpg
        plain = find_in(folder, bases, unquote(text, errors="surrogateescape"))
        if plain.how in {"found", "foreign"}:
            return FoundPath(plain.path, "foreign")
    if best.how == "climbs" or (best.how == "missing" and "\\" in text):
        ends = [folder.find_end(base, text) for base in bases]
        longest = max(ends, key=lambda end: end.count("/"), default="")
        return FoundPath(longest, "foreign") if longest else best
    return best


# Images that belong to no data set: named one by one, or all of a folder.


MAX_IMAGES = 1_000_000


def create_data_set(paths: Sequence[str | Path]) -> DataSet:
    """An example without boxes for each. What is in a folder is told by the endings of its files."""
    examples = [_example(path) for each in paths for path in _images(resolve_path(each))]
    if len(examples) > MAX_IMAGES:
        raise InvalidInputError(f"{len(examples):,} images; at most {MAX_IMAGES:,} are taken at once.")
    return DataSet(resolve_path(paths[0]), "images", (), (), examples)


def _images(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise InvalidInputError(
            f"'{path}': expected an image or a folder of images. There is {'something else' if path.exists() else 'nothing'}."
        )
    named = (each for each in path.rglob("*") if each.suffix.lower() in IMAGE_SUFFIXES)
    found = sorted(each for each in named if is_in_bucket(each) or each.is_file())
    if not found:
        raise InvalidInputError(f"'{path}' has no images. Looked for files that end in {', '.join(sorted(IMAGE_SUFFIXES))}.")
    yield from found


def _example(path: Path) -> Example:
    none = np.zeros(0, np.bool_)
    return Example(
        str(path), ImageSource(path), None, None, create_no_boxes(), np.zeros(0, np.int32), none, none, none, Origin(str(path))
    )
