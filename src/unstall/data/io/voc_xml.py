"""XML as a small tree in which each element knows its line. A document type, and with it every entity, is refused.

Entities are how a file of a kilobyte becomes gigabytes, or reads another file of the machine; annotations need none.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from xml.parsers import expat

from unstall.data.example import Origin
from unstall.data.io.folder import Folder, FoundPath
from unstall.data.io.reader import IMAGE_SUFFIXES, FindingCollector, Unparsable, find_in, quote

MAX_XML_BYTES = 16 << 20  # 100,000 boxes in one image; real annotations have a few kilobytes
DEEPEST = 32  # elements within elements
# Encodings of several bytes to a character, which expat itself does not take; annotations from East Asia have them.
WIDE_ENCODINGS = frozenset({"gbk", "gb2312", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"})


class Element:
    __slots__ = ("children", "line", "tag", "text")

    def __init__(self, tag: str, line: int) -> None:
        self.tag = tag
        self.line = line
        self.text = ""
        self.children: list[Element] = []

    def find(self, tag: str) -> Element | None:
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def text_of(self, tag: str) -> str:
        child = self.find(tag)
        return child.text.strip() if child is not None else ""


def parse(data: bytes) -> Element:
    if not data.strip():
        raise Unparsable("The file is empty. Expected an XML annotation.")
    builder = _Builder(*_encoded(data))
    try:
        return builder.parse()
    except expat.ExpatError as error:
        said = expat.ErrorString(error.code)
        raise Unparsable(f"No XML: {said} in column {error.offset + 1}.", line=error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that it does not know
        raise Unparsable(f"No XML that can be read: {error}.", line=1) from None


def _encoded(data: bytes) -> tuple[bytes, str | None]:
    declared = re.match(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w-]{1,20})["']""", data)
    encoding = declared[1].decode("ascii").lower() if declared else ""
    if encoding in WIDE_ENCODINGS:
        return data.decode(encoding, errors="replace").encode("utf-8"), "utf-8"
    return data, None


class _Builder:
    def __init__(self, data: bytes, encoding: str | None) -> None:
        self._data = data
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._root: Element | None = None
        self._open: list[Element] = []

    def parse(self) -> Element:
        try:
            self._parser.Parse(self._data, True)
        finally:
            del self._parser  # it holds this object, and this object it: the tree would stay until somebody collects rubbish
        assert self._root is not None  # expat refuses a document without an element
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        if len(self._open) >= DEEPEST:
            raise Unparsable(f"More than {DEEPEST} elements within each other. Expected an annotation.", line=element.line)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        self._open[-1].text += text

    def _refuse(self, *declared: object) -> None:
        line = self._parser.CurrentLineNumber
        message = "A document type (DOCTYPE) is declared, which may hold entities. Refused: an annotation needs none."
        raise Unparsable(message, line=line)


# Which image an annotation of Pascal VOC is of: the one that its <filename> names, or the one that is named like it.


MISMATCH = "annotation_image_mismatch"
IMAGE_ORDER = (".jpg", ".jpeg", ".png", *sorted(IMAGE_SUFFIXES - {".jpg", ".jpeg", ".png"}))


class NamedImages:
    """Of one data set."""

    def __init__(self, folder: Folder, notes: FindingCollector) -> None:
        self._folder, self._notes = folder, notes
        self._named_by: dict[str, list[tuple[Origin, str]]] = {}  # each image to the annotations that name it, and their examples

    def of(self, places: Sequence[str], file: str, key: str, root: Element) -> tuple[FoundPath, str]:
        """The image, and the name of the example: as the annotation gives it, where that is right."""
        said = root.text_of("filename")
        named = root.find("filename")
        origin = Origin(file, named.line if named else None, "filename")
        first = find_in(self._folder, places, said) if said else FoundPath("", "missing")
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
        return (first, said) if first.how == "case" else (FoundPath("", "missing"), said or key)

    def note_shared(self) -> None:
        """When all were read: an image that several annotations name is that of one of them at most."""
        for path, by in self._named_by.items():
            for origin, example in by if len(by) > 1 else ():
                if _stem(origin.file) != _stem(path):
                    other = next(each.file for each, _ in by if each is not origin)
                    message = f"{quote(path)} is the image of {quote(other)}, too. Expected an image of its own."
                    self._notes.add(MISMATCH, message, origin, example)

    def _found(self, first: FoundPath, said: str, places: Sequence[str], key: str, origin: Origin) -> tuple[FoundPath, str]:
        """An annotation that was copied or renamed still names the other image: then the one that is named like it is its own."""
        own = self._named_like(key, places) if _stem(first.path) != _stem(origin.file) else None
        if own is None:
            self._named_by.setdefault(first.path, []).append((origin, said))
            return first, said
        name = PurePosixPath(own.path).name
        message = f"<filename> says {quote(said)}, and the annotation is named like {quote(own.path)}, which is there, too."
        self._notes.add(MISMATCH, f"{message} {quote(name)} is taken for its image.", origin, name)
        return own, name

    def _named_like(self, key: str, places: Sequence[str]) -> FoundPath | None:
        stem = posixpath.basename(key)
        for suffix in (*IMAGE_ORDER, *(suffix.upper() for suffix in IMAGE_ORDER)):
            for name in dict.fromkeys((key + suffix, stem + suffix)):
                found = find_in(self._folder, places, name)
                if found.how == "found":
                    return found
        return None


def _stem(path: str) -> str:
    """Without its folders and its ending; case and spaces at its ends are no other name."""
    name = posixpath.basename(path)
    head, dot, _ = name.rpartition(".")
    return (head if dot else name).strip().lower()
