"""A label file, a data.yaml, a list of images or of classes of a YOLO data set: the first byte says which."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import lay_out, read, restore

GIF = b"GIF89a\x40\x00\x30\x00\x00\x00\x00"  # 64×48, as far as its header goes
LABELS = b"0 0.5 0.5 0.25 0.5\n1 0.1 0.1 0.9 0.1 0.9 0.9\n"
SETTINGS = b"path: .\ntrain: images\nval: [images, train.txt]\nnc: 2\nnames:\n  0: cat\n  1: 'dog'\n"
SEEDS = (
    b"\0" + LABELS,
    b"\1" + SETTINGS,
    b"\1names: [a, b]\ntrain: ../train/images\n",
    b"\1a: &a [x, x]\nnames: [*a, *a]\n",
    b"\2./images/a.gif\nimages/b.gif\n/etc/passwd\n",
    b"\3cat\ndog\n",
)
TOKENS = (
    *(
        b"0 ",
        b"0.5 ",
        b"nan ",
        b"-1 ",
        b"1e999 ",
        b"1_0 ",
        b"\n",
        b"\r\n",
        b"names:",
        b"train:",
        b"val:",
        b"path:",
        b"nc:",
        b"- ",
        b"[",
    ),
    *(
        b"]",
        b"{",
        b"}",
        b": ",
        b"&a ",
        b"*a ",
        b"!!python/object:os.system ",
        b"|",
        b">",
        b'"',
        b"'",
        b"#",
        b"---",
        b"...",
        b"? ",
        b"!!int",
    ),
    *(b"../", b"/", b"images", b"a.gif", b"\0", b"\xff\xfe", b"\xc2\x85", b"\t", b"<<: ", b"[[[[[[[[[[", b"{a: {a: {a: "),
)


USUAL = {
    "labels/a.txt": LABELS,
    "data.yaml": SETTINGS,
    "train.txt": b"images/a.gif\n",
    "classes.txt": b"cat\ndog\n",
    "images/a.gif": GIF,
}
PLACES = tuple(USUAL)[:4]


def one(data: bytes, folder: Path) -> None:
    changed = PLACES[data[0] % len(PLACES)] if data else PLACES[0]
    lay_out(folder, USUAL, changed, data[1:])
    if changed == "classes.txt":
        (folder / "data.yaml").unlink()  # it would have the names
    try:
        read("yolo", folder)
    finally:
        restore(folder, USUAL, changed)
