"""Which image an annotation of Pascal VOC is of: the one that its <filename> names, or the one that is named like it."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import PurePosixPath

from unstall.data.example import Origin
from unstall.data.folder import Folder, Resolved
from unstall.data.reading import IMAGE_ENDINGS, Notes, find_in, quoted
from unstall.data.xml_lines import Element

MISMATCH = "annotation_image_mismatch"
IMAGE_ORDER = (".jpg", ".jpeg", ".png", *sorted(IMAGE_ENDINGS - {".jpg", ".jpeg", ".png"}))


class NamedImages:
    """Of one data set."""

    def __init__(self, folder: Folder, notes: Notes) -> None:
        self._folder, self._notes = folder, notes
        self._named_by: dict[str, list[tuple[Origin, str]]] = {}  # each image to the annotations that name it, and their examples

    def of(self, places: Sequence[str], file: str, key: str, root: Element) -> tuple[Resolved, str]:
        """The image, and the name of the example: as the annotation gives it, where that is right."""
        said = root.text_of("filename")
        named = root.find("filename")
        origin = Origin(file, named.line if named else None, "filename")
        first = find_in(self._folder, places, said) if said else Resolved("", "missing")
        if first.how == "found":
            return self._found(first, said, places, key, origin)
        if first.how == "foreign":
            name = PurePosixPath(first.path).name
            self._notes.add_unresolved(first, said, origin, name)
            return first, name
        if first.how == "climbs":
            self._notes.add_unresolved(first, said, origin, key)
        own = self._named_like(key, places)
        if own is not None:
            return own, PurePosixPath(own.path).name
        if first.how != "climbs":
            self._notes.add_unresolved(first, said or key, origin, said or key)
        return (first, said) if first.how == "case" else (Resolved("", "missing"), said or key)

    def note_shared(self) -> None:
        """When all were read: an image that several annotations name is that of one of them at most."""
        for path, by in self._named_by.items():
            for origin, example in by if len(by) > 1 else ():
                if _stem(origin.file) != _stem(path):
                    other = next(each.file for each, _ in by if each is not origin)
                    message = f"{quoted(path)} is the image of {quoted(other)}, too. Expected an image of its own."
                    self._notes.add(MISMATCH, message, origin, example)

    def _found(self, first: Resolved, said: str, places: Sequence[str], key: str, origin: Origin) -> tuple[Resolved, str]:
        """An annotation that was copied or renamed still names the other image: then the one that is named like it is its own."""
        own = self._named_like(key, places) if _stem(first.path) != _stem(origin.file) else None
        if own is None:
            self._named_by.setdefault(first.path, []).append((origin, said))
            return first, said
        name = PurePosixPath(own.path).name
        message = f"<filename> says {quoted(said)}, and the annotation is named like {quoted(own.path)}, which is there, too."
        self._notes.add(MISMATCH, f"{message} {quoted(name)} is taken for its image.", origin, name)
        return own, name

    def _named_like(self, key: str, places: Sequence[str]) -> Resolved | None:
        stem = posixpath.basename(key)
        for ending in (*IMAGE_ORDER, *(ending.upper() for ending in IMAGE_ORDER)):
            for name in dict.fromkeys((key + ending, stem + ending)):
                found = find_in(self._folder, places, name)
                if found.how == "found":
                    return found
        return None


def _stem(path: str) -> str:
    """Without its folders and its ending; case and spaces at its ends are no other name."""
    name = posixpath.basename(path)
    head, dot, _ = name.rpartition(".")
    return (head if dot else name).strip().lower()
