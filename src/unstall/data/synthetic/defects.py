"""Gives the embedded data set each defect on request: what `unstall data check` must then find.

A defect is given before writing, to boxes and images (`_PREPARED`), or after it, to the files of a format
(`file_defects.py`).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.example import Floats
from unstall.data.formats import FORMATS
from unstall.data.synthetic.file_defects import SPOILED
from unstall.data.synthetic.shapes import Draft


def list_formats(defect: str) -> tuple[str, ...]:
    """The formats that can have it."""
    if defect in _PREPARED:
        return _ONLY.get(defect, FORMATS.names())
    return tuple(SPOILED.get(defect, {}))


def list_defect_names() -> tuple[str, ...]:
    return tuple(sorted({*_PREPARED, *SPOILED}))


def refuse_impossible(defects: Sequence[str], format: str) -> None:
    for defect in defects:
        if defect not in list_defect_names():
            raise InvalidInputError(f"There is no defect '{defect}'. Defects: {', '.join(list_defect_names())}.")
        if format not in list_formats(defect):
            able = ", ".join(list_formats(defect))
            raise InvalidInputError(f"A data set in the format '{format}' cannot have the defect '{defect}'. These can: {able}.")


def prepare(defect: str, draft: Draft) -> str:
    """The name of the example that now has it; empty where it is given after writing."""
    give = _PREPARED.get(defect)
    return give(draft) if give is not None else ""


# --- boxes ---


def _to_one_box(change: Callable[[Floats, float, float], Sequence[float] | Floats]) -> Callable[[Draft], str]:
    def give(draft: Draft) -> str:
        row = draft.a_row()
        boxes = draft.examples[row].boxes.copy()
        boxes[0] = change(boxes[0], draft.shapes.width, draft.shapes.height)
        draft.change(row, boxes=boxes)
        return draft.examples[row].name

    return give


def _to_all_boxes(change: Callable[[Floats, float, float], Floats], of_all_images: bool = False) -> Callable[[Draft], str]:
    def give(draft: Draft) -> str:
        rows = list(range(len(draft.examples))) if of_all_images else [draft.a_row()]
        for row in rows:
            draft.change(row, boxes=change(draft.examples[row].boxes, draft.shapes.width, draft.shapes.height))
        return draft.examples[rows[0]].name

    return give


def _sides(width: float, height: float) -> Floats:
    return np.array([width, height, width, height])


def _box_duplicate(draft: Draft) -> str:
    row = draft.a_row()
    _with_boxes(draft, row, [*range(draft.examples[row].count), 0])
    return draft.examples[row].name


def _box_count_outlier(draft: Draft) -> str:
    row = draft.a_row()
    count = 400
    _with_boxes(draft, row, [0] * count)
    corners = draft.random.uniform(0, 0.7, (count, 2)) * [draft.shapes.width, draft.shapes.height]
    sides = draft.random.uniform(0.05, 0.3, (count, 2)) * [draft.shapes.width, draft.shapes.height]
    draft.change(row, boxes=np.round(np.concatenate([corners, corners + sides], axis=1)))
    return draft.examples[row].name


def _annotation_empty(draft: Draft) -> str:
    row = draft.a_row()
    _with_boxes(draft, row, [])
    return draft.examples[row].name


def _boxes_missing(draft: Draft) -> str:
    for row in range(len(draft.examples)):
        _with_boxes(draft, row, [])
    return ""


def _with_boxes(draft: Draft, row: int, rows: list[int]) -> None:
    """Those of its own boxes, in this order."""
    example = draft.examples[row]
    take = np.array(rows, np.int64)
    fields = ("boxes", "classes", "crowd", "difficult", "truncated")
    draft.change(row, **{name: getattr(example, name)[take] for name in fields})


def _class_unused(draft: Draft) -> str:
    draft.classes.append("heptagon")
    return ""


# --- images ---


def _opened(draft: Draft, row: int) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(draft.read(row)))


def _saved(image: Any, kind: str, **how: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def _to_bytes(change: Callable[[bytes], bytes]) -> Callable[[Draft], str]:
    def give(draft: Draft) -> str:
        row = draft.a_row()
        draft.reencode(row, change(draft.read(row)))
        return draft.examples[row].name

    return give


def _to_mode(mode: str) -> Callable[[Draft], str]:
    def give(draft: Draft) -> str:
        row = draft.a_row()
        draft.reencode(row, _saved(_opened(draft, row).convert(mode), "JPEG", quality=92))
        return draft.examples[row].name

    return give


def _as_png(draft: Draft) -> str:
    """Under the name of a JPEG."""
    row = draft.a_row()
    draft.reencode(row, _saved(_opened(draft, row), "PNG"))
    return draft.examples[row].name


def _image_16_bit(draft: Draft) -> str:
    row = draft.a_row()
    grey = np.asarray(_opened(draft, row).convert("L")).astype(np.uint16) * 257
    from PIL import Image

    draft.reencode(row, _saved(Image.fromarray(grey), "PNG"), ".png")
    return draft.examples[row].name


def _image_rotated(draft: Draft) -> str:
    """Stored on its side; upright, and with its boxes in place, for a program that heeds the EXIF note."""
    from PIL import Image

    row = draft.a_row()
    on_side = _opened(draft, row).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    draft.reencode(row, _saved(on_side, "JPEG", quality=92, exif=exif.tobytes()))
    return draft.examples[row].name


def _bomb(data: bytes) -> bytes:
    """The same few kilobytes, which now say that they are 60,000 pixels wide and high."""
    frame = data.index(b"\xff\xc0") + 5  # marker, length, bits; then height and width
    return data[:frame] + struct.pack(">HH", 60_000, 60_000) + data[frame + 4 :]


def _size_differs(draft: Draft) -> str:
    row = draft.a_row()
    example = draft.examples[row]
    draft.change(row, width=2 * (example.width or 0), height=2 * (example.height or 0), boxes=2 * example.boxes)
    return example.name


def _images_leak(draft: Draft) -> str:
    splits = list(dict.fromkeys(example.split for example in draft.examples))
    if len(splits) < 2:
        raise InvalidInputError("The defect 'images_leak' needs two splits. Ask for them: --splits train=0.8,val=0.2.")
    first, second = draft.a_row(split=splits[0]), draft.a_row(split=splits[1])
    draft.reencode(second, _saved(_opened(draft, first), "JPEG", quality=80))
    source = draft.examples[first]
    fields = ("boxes", "classes", "crowd", "difficult", "truncated")
    draft.change(second, **{name: getattr(source, name) for name in fields})
    return draft.examples[second].name


def _image_size_outlier(draft: Draft) -> str:
    row = draft.a_row()
    factor = max(4.0, float(np.sqrt(12e6 / (draft.shapes.width * draft.shapes.height))))
    large = _opened(draft, row)
    large = large.resize((round(large.width * factor), round(large.height * factor)))
    draft.reencode(row, _saved(large, "JPEG", quality=70))
    boxes = draft.examples[row].boxes * _sides(large.width / draft.shapes.width, large.height / draft.shapes.height)
    draft.change(row, width=large.width, height=large.height, boxes=boxes)
    return draft.examples[row].name


_PREPARED: dict[str, Callable[[Draft], str]] = {
    "annotation_empty": _annotation_empty,
    "box_axes_swapped": _to_all_boxes(lambda boxes, width, height: boxes[:, [1, 0, 3, 2]], of_all_images=True),
    "box_count_outlier": _box_count_outlier,
    "box_in_pixels": _to_all_boxes(lambda boxes, width, height: boxes * _sides(width, height)),
    "box_inverted": _to_one_box(lambda box, width, height: box[[2, 3, 0, 1]]),
    "box_negative": _to_one_box(lambda box, width, height: (-0.1 * width, *box[1:])),
    "box_no_area": _to_one_box(lambda box, width, height: (*box[:2], *box[:2])),
    "box_normalised": _to_all_boxes(lambda boxes, width, height: boxes / _sides(width, height)),
    "box_outside": _to_one_box(lambda box, width, height: box + _sides(1.2 * width, 0)),
    "box_partly_outside": _to_one_box(lambda box, width, height: (*box[:2], 1.1 * width, box[3])),
    "box_tiny": _to_one_box(lambda box, width, height: (*box[:2], *(box[:2] + 1.5))),
    "box_duplicate": _box_duplicate,
    "boxes_missing": _boxes_missing,
    "class_unused": _class_unused,
    "encodings_mixed": _as_png,
    "image_16_bit": _image_16_bit,
    "image_cmyk": _to_mode("CMYK"),
    "image_end_mark_missing": _to_bytes(lambda data: data[:-2]),
    "image_grey": _to_mode("L"),
    "image_rotated": _image_rotated,
    "image_size_outlier": _image_size_outlier,
    "image_too_large_to_decode": _to_bytes(_bomb),
    "image_truncated": _to_bytes(lambda data: data[: len(data) // 2]),
    "image_type_wrong": _as_png,
    "image_unreadable": _to_bytes(lambda data: b"<html><body>404 Not Found</body></html>"),
    "image_zero_bytes": _to_bytes(lambda data: b""),
    "images_leak": _images_leak,
    "size_differs": _size_differs,
}
# Where nothing stands here, every format can have it.
_ONLY: dict[str, tuple[str, ...]] = {
    "box_in_pixels": ("yolo", "tfrecord"),
    "box_normalised": ("coco", "voc"),
    "encodings_mixed": ("tfrecord",),
    "image_type_wrong": ("coco", "voc", "yolo"),
    "image_zero_bytes": ("coco", "voc", "yolo"),
    "size_differs": ("coco", "voc", "tfrecord"),
}
