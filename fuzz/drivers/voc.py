"""A Pascal VOC annotation, a list of names or a list of classes: the first byte says which; the others are as they should be."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import lay_out, read, restore

ANNOTATION = (
    b"<annotation><filename>a.jpg</filename><size><width>64</width><height>48</height></size>\n"
    b"<object><name>cat</name><difficult>1</difficult><truncated>0</truncated>"
    b"<bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>3e1</xmax><ymax>40</ymax></bndbox></object></annotation>"
)
SEEDS = (
    b"\0" + ANNOTATION,
    b'\0<?xml version="1.0" encoding="gbk"?>' + ANNOTATION,
    b'\0<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><annotation>&b;</annotation>',
    b"\1a\nb -1\n\n../c\r\n",
    b"\2cat\ndog\n\n",
)
TOKENS = (
    *(
        b"<annotation>",
        b"</annotation>",
        b"<object>",
        b"</object>",
        b"<name>",
        b"</name>",
        b"<bndbox>",
        b"</bndbox>",
        b"<xmin>",
        b"</xmin>",
    ),
    *(
        b"<filename>",
        b"</filename>",
        b"<!DOCTYPE",
        b"<!ENTITY",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"&lt;",
        b"&#0;",
        b"&x;",
        b"<?xml",
    ),
    *(
        b"encoding='utf-16'",
        b"nan",
        b"inf",
        b"1e999",
        b"-1",
        b"../",
        b"/etc/passwd",
        b"\0",
        b"\xff\xfe",
        b"<x><x><x><x><x><x><x><x>",
    ),
)


USUAL = {
    "Annotations/a.xml": ANNOTATION,
    "ImageSets/Main/train.txt": b"a\n",
    "labels.txt": b"cat\ndog\n",
    "JPEGImages/a.jpg": b"",
}
PLACES = tuple(USUAL)[:3]


def one(data: bytes, folder: Path) -> None:
    changed = PLACES[data[0] % len(PLACES)] if data else PLACES[0]
    lay_out(folder, USUAL, changed, data[1:])
    try:
        read("voc", folder)
    finally:
        restore(folder, USUAL, changed)
