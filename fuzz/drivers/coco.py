"""A COCO file, with one image beside it."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import read

SEEDS = (
    b'{"images":[{"id":1,"file_name":"a.jpg","width":64,"height":48},{"id":"x","file_name":"b.jpg"}],"annotations":['
    b'{"id":1,"image_id":1,"category_id":3,"bbox":[1,2.5,3,4e1],"iscrowd":1,"area":null},'
    b'{"image_id":"x","category_id":7,"bbox":[0,0,-1,1],"segmentation":[[1,2,3,4,5,6]]}],'
    b'"categories":[{"id":3,"name":"cat"},{"id":7,"name":"dog","supercategory":"x"}]}',
    b'{"images":[{"id":1,"file_name":"a.jpg"}],"annotations":[{"image_id":1,"category_id":1,"bbox":[NaN,Infinity,1,2]}],"categories":[]}',
    b'\xef\xbb\xbf{"images":[],"annotations":[],"categories":[]}',
)
TOKENS = (
    *(
        b'"images"',
        b'"annotations"',
        b'"categories"',
        b'"bbox"',
        b'"id"',
        b'"image_id"',
        b'"category_id"',
        b'"file_name"',
        b'"name"',
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"null",
        b"true",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"99999999999999999999",
        b'"../a.jpg"',
    ),
    *(b'"\\ud800"', b'"\\u0000"', b"0", b"-1", b"1.5", b'"a.jpg"', b"[[[[[[[[", b"\xff", b"\n"),
)


def one(data: bytes, folder: Path) -> None:
    (folder / "a.jpg").touch()
    (folder / "a.json").write_bytes(data)
    read("coco", folder / "a.json")
