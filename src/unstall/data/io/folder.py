"""The files of a data set: paths from its annotations are resolved inside it, and never outside.

Each folder is listed once. Links are followed to plain files and to folders; pipes and devices are never opened, since to
open one may be to wait for ever.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from unstall.storage.bucket_path import BucketPath

How = Literal["found", "case", "missing", "climbs", "foreign"]
MISSING: Final = "missing"
COMPANION = "._"  # macOS lays ._a.jpg beside a.jpg on foreign disks and in archives: nothing that belongs to a data set
DEEPEST = 64  # folders within folders that are looked into
LONGEST_END = 8  # folders of a path of another machine that may be those of the data set, too


@dataclass(frozen=True, slots=True)
class FoundPath:
    path: str  # relative to the folder, with its true upper and lower case; empty where nothing was found
    how: How


@dataclass(frozen=True, slots=True)
class _Listing:
    files: frozenset[str]
    folders: frozenset[str]
    folded: dict[str, str]  # by `normalize_name`, to the true name


class Folder:
    def __init__(self, root: Path) -> None:
        self.root = root
        at = str(root) if isinstance(root, BucketPath) else os.path.abspath(root)  # noqa: PTH100  (resolve() would follow links)
        self._prefix = f"{at.rstrip('/')}/"
        self._listings: dict[str, _Listing | None] = {}

    def find(self, base: str, text: str) -> FoundPath:
        """A plain file named by an annotation; `base` is the folder, relative to the root, that the name is relative to."""
        inside = self.inside(base, text)
        if inside is None:
            return FoundPath("", "climbs")
        folder, _, name = inside.rpartition("/")
        listing = self._listing(folder)
        if listing is not None and name in listing.files:
            return FoundPath(inside, "found")
        other = self._without_case(inside)
        return FoundPath(other, "case") if other else FoundPath("", MISSING)

    def find_end(self, base: str, text: str) -> str:
        """The file inside that a path of another machine means: the longest end of it that is there."""
        found = (self.find(base, end) for end in _ends(text))
        return next((each.path for each in found if each.how == "found"), "")

    def folder_end(self, text: str) -> str:
        """The same for a folder."""
        return next((end for end in _ends(text) if self.has_folder(end)), "")

    def holding(self, text: str) -> str:
        """The one folder, wherever inside, that a file of this name lies in; empty where there is none, or several."""
        if isinstance(self.root, BucketPath) or self.inside("", text) is None:
            return ""
        end = f"/{posixpath.normpath(text)}"
        found = (path.removesuffix(end) for path in self.walk("", [posixpath.splitext(text)[1].lower()]) if path.endswith(end))
        first = list(islice(found, 2))
        return first[0] if len(first) == 1 else ""

    def inside(self, base: str, text: str) -> str | None:
        """The path relative to the root; None where it leads out of it. An absolute path may lead into the root."""
        if text.startswith("/") or "://" in text:
            text = posixpath.normpath(text) if text.startswith("/") else text
            if not text.startswith(self._prefix):
                return None
            base, text = "", text[len(self._prefix) :]
        if text.startswith("~") or re.match("[A-Za-z]:[\\\\/]", text):
            return None
        joined = posixpath.normpath(posixpath.join(base, text))
        return None if joined == ".." or joined.startswith(("../", "/")) else joined

    def has_folder(self, path: str) -> bool:
        return self._listing(posixpath.normpath(path) if path else "") is not None

    def files(self, path: str = "", suffixes: Iterable[str] = ()) -> list[str]:
        """Names of the plain files in it, sorted; only those with one of these endings, whatever their case."""
        listing = self._listing(path)
        wanted = tuple(suffixes)
        names = listing.files if listing else frozenset()
        return sorted(name for name in names if not wanted or name.lower().endswith(wanted))

    def folders(self, path: str = "") -> list[str]:
        listing = self._listing(path)
        return sorted(listing.folders) if listing else []

    def walk(self, path: str = "", suffixes: Iterable[str] = ()) -> Iterator[str]:
        """Plain files in it and in the folders within, relative to the root. Each folder once: no link leads in circles."""
        waiting = [(path, 0)]
        seen: set[object] = set()
        suffixes = tuple(suffixes)
        while waiting:
            current, depth = waiting.pop()
            one = self._identity(current)
            if one is None or one in seen or depth > DEEPEST:
                continue
            seen.add(one)
            for name in self.files(current, suffixes):
                yield posixpath.join(current, name)
            waiting += [(posixpath.join(current, name), depth + 1) for name in reversed(self.folders(current))]

    def _identity(self, path: str) -> object:
        """Of a folder, however it was reached; None where there is none. A bucket has no links."""
        if isinstance(self.root, BucketPath):
            return path
        try:
            status = (self.root / path).stat()
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino

    def _listing(self, path: str) -> _Listing | None:
        if path == ".":
            path = ""
        if path not in self._listings:
            in_bucket = isinstance(self.root, BucketPath)
            self._listings[path] = _list_in_bucket(self.root / path) if in_bucket else _list(self._prefix + path)
        return self._listings[path]

    def _without_case(self, inside: str) -> str:
        current = ""
        *folders, name = inside.split("/")
        if len(folders) > DEEPEST:
            return ""
        for part in folders:
            listing = self._listing(current)
            true = _match(part, listing.folders, listing.folded) if listing else ""
            if not true:
                return ""
            current = posixpath.join(current, true)
        listing = self._listing(current)
        true = _match(name, listing.files, listing.folded) if listing else ""
        return posixpath.join(current, true) if true else ""


def _ends(text: str) -> list[str]:
    """'b/c' and 'c' of C:\\a\\..\\b\\c and the like, the longest first."""
    parts = [part for part in text.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return ["/".join(parts[-count:]) for count in range(min(len(parts), LONGEST_END), 0, -1)]


def normalize_name(name: str) -> str:
    """What names have in common that differ by case alone, or by how an accent is stored: macOS takes ö apart."""
    return unicodedata.normalize("NFC", name).lower()


def _match(name: str, names: frozenset[str], folded: dict[str, str]) -> str:
    if name in names:
        return name
    other = folded.get(normalize_name(name), "")
    return other if other in names else ""


def _list_in_bucket(path: Path) -> _Listing | None:
    assert isinstance(path, BucketPath)
    found = path.listed()
    if found is None:
        return None
    files = frozenset(entry.key.rpartition("/")[2] for entry in found if not entry.is_folder)
    folders = frozenset(entry.key.rpartition("/")[2] for entry in found if entry.is_folder)
    return _Listing(files, folders, {normalize_name(name): name for name in (*files, *folders)})


def _list(path: str) -> _Listing | None:
    files, folders = set(), set()
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.add(entry.name)
                elif entry.is_file() and not entry.name.startswith(COMPANION):
                    files.add(entry.name)
    except (OSError, ValueError):  # not there, no folder, not permitted; or a name that no file can have
        return None
    return _Listing(frozenset(files), frozenset(folders), {normalize_name(name): name for name in (*files, *folders)})
