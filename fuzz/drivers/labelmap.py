"""A label map (.pbtxt), read and then checked as the formats do it."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import said
from fuzz.tokens import PROTOTEXT
from unstall.data.io import label_map
from unstall.data.io.reader import FindingCollector, Unparsable, as_text

SEEDS = (
    b"item {\n  id: 1\n  name: 'cat'\n}\nitem: {\n name: \"dog\", id: 2; display_name: 'x'\n}\n",
    b"# comment\nitem < id: 3 name: '\\346\\227\\xa5\\n' keypoints { id: 1 label: 'n' } ancestor_ids: [1, 2] >",
)
TOKENS = (
    *PROTOTEXT,
    *(b"item", b"id", b"name", b"display_name", b"\\x", b"\\377", b"1", b"-1", b"0", b"99999999999"),
    *(b"item { id: 1 }", b"{{{{{{{{{{{{{{{{{{{{"),
)


def one(data: bytes, folder: Path) -> None:
    notes = FindingCollector()
    try:
        items = label_map.parse(as_text(data))
    except Unparsable as error:
        said(str(error))
        return
    kept = label_map.check_items(items, "a.pbtxt", notes)
    assert len({item.number for item in kept}) == len(kept) <= len(items)
    for finding in notes.findings:
        said(f"{finding.origin}: {finding.message}")
