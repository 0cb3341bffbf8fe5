"""Defects of the files themselves, given to a written data set: each as a format can have it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ON_WINDOWS = "C:\\Users\\anna\\photos\\"  # where tools that label images are used
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


def _put_on_windows(image: dict[str, Any]) -> None:
    image["file_name"] = f"{ON_WINDOWS}{image['file_name']}"


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


# --- YOLO ---


def _yolo_line(line: str) -> Spoil:
    return _edited("labels/**/*.txt", lambda text: text + line + "\n")


def _names(old: str, new: str) -> Spoil:
    return _edited("data.yaml", lambda text: text.replace(old, new))


# --- records ---


def _record(change: Callable[[dict[str, list[Any]]], object]) -> Spoil:
    """The features of one record, changed and written again with checksums that are right."""

    def alter(data: bytes) -> bytes:
        from unstall.data.io import record_features

        values: dict[str, list[Any]] = {key: list(items) for key, (_, items) in record_features.parse_features(data).items()}
        change(values)
        return record_features.encode_example(values)

    return _record_bytes(alter)


def _record_bytes(alter: Callable[[bytes], bytes]) -> Spoil:
    def give(out: Path, number: int) -> str:
        from unstall.data.io import tfrecord_file

        path = min(out.glob("*.record"))
        contents = [record.data for record in tfrecord_file.read(path) if isinstance(record, tfrecord_file.Record)]
        contents[-1 - number] = alter(contents[-1 - number])
        with path.open("wb") as file:
            for content in contents:
                tfrecord_file.write(file, content)
        return _relative(path, out)

    return give


def _file_bytes(pattern: str, change: Callable[[bytes], bytes]) -> Spoil:
    def give(out: Path, number: int) -> str:
        path = _chosen(out, pattern, number)
        path.write_bytes(change(path.read_bytes()))
        return _relative(path, out)

    return give


def _one_bit_wrong(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _set(**fields: Any) -> Callable[[dict[str, list[Any]]], object]:
    """The first value of each of these features of the objects."""

    def change(values: dict[str, list[Any]]) -> None:
        for name, value in fields.items():
            values[f"image/object/{name.replace('__', '/')}"][0] = value

    return change


def _pbtxt(old: str, new: str) -> Spoil:
    return _edited("label_map.pbtxt", lambda text: text.replace(old, new))


def _names_another_image(out: Path, number: int) -> str:
    """As an annotation that was made from a copy of another."""
    path = _chosen(out, "Annotations/*.xml", number)
    other = next(each for each in sorted((out / "JPEGImages").iterdir()) if each.stem != path.stem)
    text = path.read_text(encoding="utf-8")
    path.write_text(_between("<filename>", "</filename>", other.name)(text), encoding="utf-8")
    return _relative(path, out)


SPOILED: dict[str, dict[str, Spoil]] = {
    "annotation_image_mismatch": {"voc": _names_another_image},
    "annotation_missing": {"voc": _removed("Annotations/*.xml")},
    "annotation_unparsable": {
        "coco": _coco_box(bbox=[10, "twenty", 30, 40]),
        "voc": _edited("Annotations/*.xml", lambda text: text[: len(text) // 2]),
        "yolo": _yolo_line("0 0.5 half 0.1 0.1"),
        "tfrecord": _record_bytes(lambda data: b"\xff" * 100),
    },
    "box_not_finite": {
        "coco": _coco_box(bbox=[float("nan"), 10, 30, 40]),
        "voc": _voc("xmin", "nan"),
        "yolo": _yolo_line("0 nan 0.5 0.1 0.1"),
        "tfrecord": _record(_set(bbox__xmin=float("nan"))),
    },
    "class_out_of_range": {
        "yolo": _yolo_line("99 0.5 0.5 0.1 0.1"),
        "tfrecord": _record(_set(class__label=99, class__text=b"")),
    },
    "class_unknown": {
        "coco": _coco_box(category_id=999),
        "voc": _voc("name", "heptagon"),
        "tfrecord": _record(_set(class__text=b"heptagon")),
    },
    "image_missing": {
        "coco": _removed("*/*.jpg"),
        "voc": _removed("JPEGImages/*.jpg"),
        "yolo": _removed("images/**/*.jpg"),
        "tfrecord": _record(lambda values: values.update({"image/encoded": [b""]})),
    },
    "label_map_background": {
        "coco": _coco(lambda content, number: content["categories"].insert(0, {"id": 0, "name": "background"})),
        "voc": _edited("labels.txt", lambda text: "background\n" + text),
        "yolo": _names('0: "circle"', '0: "background"'),
        "tfrecord": _pbtxt("id: 1\n", "id: 0\n"),
    },
    "label_map_duplicates": {
        "coco": _coco(lambda content, number: content["categories"].append({"id": 1, "name": "heptagon"})),
        "voc": _edited("labels.txt", lambda text: text + text.partition("\n")[0] + "\n"),
        "yolo": _names('1: "square"', '1: "circle"'),
        "tfrecord": _pbtxt("id: 2\n", "id: 1\n"),
    },
    "label_map_gaps": {"yolo": _names('5: "ring"', '9: "ring"'), "tfrecord": _pbtxt("id: 6\n", "id: 9\n")},
    "path_case_differs": {"coco": _in_capitals("*/*.jpg"), "voc": _in_capitals("JPEGImages/*.jpg")},
    "path_climbs_out": {
        "coco": _coco(lambda content, number: content["images"][-1 - number].update(file_name="../../outside.jpg")),
        "voc": _voc("filename", "../../outside.jpg"),
        "yolo": _names("val: images/val", "val: ../../outside"),
    },
    "path_foreign": {
        "coco": _coco(lambda content, number: _put_on_windows(content["images"][-1 - number])),
        "voc": _edited("Annotations/*.xml", lambda text: text.replace("<filename>", f"<filename>{ON_WINDOWS}")),
    },
    "record_crc_wrong": {"tfrecord": _file_bytes("*.record", _one_bit_wrong)},
    "record_keys_wrong": {"tfrecord": _record(lambda values: values.update({"image/data": values.pop("image/encoded")}))},
    "record_truncated": {"tfrecord": _file_bytes("*.record", lambda data: data[:-100])},
}
