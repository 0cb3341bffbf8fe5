"""XML as a small tree in which each element knows its line. A document type, and with it every entity, is refused.

Entities are how a file of a kilobyte becomes gigabytes, or reads another file of the machine; annotations need none.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from unstall.data.reading import Unparsable

MOST_XML_BYTES = 16 << 20  # 100,000 boxes in one image; real annotations have a few kilobytes
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
