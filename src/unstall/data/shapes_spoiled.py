"""Defects of the files themselves, given to a written data set: each as a format can have it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Spoil = Callable[[Path, int], str]  # the folder, and a number that sets the defects of one data set apart


def spoil(defect: str, out: Path, format: str, where: str, number: int) -> str:
    """The file that now has it; as it came where it was given before writing."""
    give = SPOILED.get(defect, {}).get(format)
    return give(out, number) if give is not None else where


def _chosen(out: Path, pattern: str, number: int) -> Path:
    """From the end: what was given before writing stands at the beginning."""
    paths = sorted(out.glob(pattern))
    return paths[-1 - number % len(paths)]


def _relative(path: Path, out: Path) -> str:
    return path.relative_to(out).as_posix()


def _removed(pattern: str) -> Spoil:
    def give(out: Path, number: int) -> str:
        path = _chosen(out, pattern, number)
        path.unlink()
        return _relative(path, out)

    return give


def _in_capitals(pattern: str) -> Spoil:
    def give(out: Path, number: int) -> str:
        path = _chosen(out, pattern, number)
        path.rename(path.with_name(path.name.upper()))
        return _relative(path, out)

    return give


def _edited(pattern: str, change: Callable[[str], str]) -> Spoil:
    def give(out: Path, number: int) -> str:
        path = _chosen(out, pattern, number)
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        return _relative(path, out)

    return give


# --- COCO ---


def _coco(change: Callable[[dict[str, Any], int], object]) -> Spoil:
    def give(out: Path, number: int) -> str:
        path = min(out.glob("annotations/*.json"))
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content, number)
        path.write_text(json.dumps(content), encoding="utf-8")
        return _relative(path, out)

    return give


def _coco_box(**fields: Any) -> Spoil:
    return _coco(lambda content, number: content["annotations"][-1 - number].update(fields))


# --- Pascal VOC ---


def _between(before: str, after: str, value: str) -> Callable[[str], str]:
    """The first text between the two is replaced."""

    def edit(text: str) -> str:
        head, _, rest = text.partition(before)
        return head + before + value + after + rest.partition(after)[2]

    return edit


def _voc(tag: str, value: str) -> Spoil:
    return _edited("Annotations/*.xml", _between(f"<{tag}>", f"</{tag}>", value))


SPOILED: dict[str, dict[str, Spoil]] = {
    "annotation_missing": {"voc": _removed("Annotations/*.xml")},
    "annotation_unparsable": {
        "coco": _coco_box(bbox=[10, "twenty", 30, 40]),
        "voc": _edited("Annotations/*.xml", lambda text: text[: len(text) // 2]),
    },
    "box_not_finite": {"coco": _coco_box(bbox=[float("nan"), 10, 30, 40]), "voc": _voc("xmin", "nan")},
    "class_unknown": {"coco": _coco_box(category_id=999), "voc": _voc("name", "heptagon")},
    "image_missing": {"coco": _removed("*/*.jpg"), "voc": _removed("JPEGImages/*.jpg")},
    "label_map_background": {
        "coco": _coco(lambda content, number: content["categories"].insert(0, {"id": 0, "name": "background"})),
        "voc": _edited("labels.txt", lambda text: "background\n" + text),
    },
    "label_map_duplicates": {
        "coco": _coco(lambda content, number: content["categories"].append({"id": 1, "name": "heptagon"})),
        "voc": _edited("labels.txt", lambda text: text + text.partition("\n")[0] + "\n"),
    },
    "path_case_differs": {"coco": _in_capitals("*/*.jpg"), "voc": _in_capitals("JPEGImages/*.jpg")},
    "path_climbs_out": {
        "coco": _coco(lambda content, number: content["images"][-1 - number].update(file_name="../../outside.jpg")),
        "voc": _voc("filename", "../../outside.jpg"),
    },
}
