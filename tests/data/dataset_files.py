"""Small data sets for the tests: real images, and files as people and tools write them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unstall.data.example import DataSet, Example, ImageSource, Origin
from unstall.data.io import record_features, tfrecord_file
from unstall.data.io.columns import create_example


def picture(width: int = 64, height: int = 48, kind: str = "JPEG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 120, 40)).save(out, kind)
    return out.getvalue()


def put(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes these files, folders included."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def coco_text(images: Sequence[Any], annotations: Sequence[Any], categories: Sequence[Any]) -> str:
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


def coco_image(number: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "file_name": name, "width": 64, "height": 48, **more}


def coco_box(image: int, category: int = 1, box: Sequence[float] = (1, 2, 10, 20), **more: Any) -> dict[str, Any]:
    return {"id": 1, "image_id": image, "category_id": category, "bbox": list(box), **more}


def voc_text(filename: str = "a.jpg", objects: str = "", size: str = "<size><width>64</width><height>48</height></size>") -> str:
    return f"<annotation>\n<filename>{filename}</filename>\n{size}\n{objects}</annotation>\n"


def voc_object(name: str = "cat", box: Sequence[object] = (1, 2, 11, 22), more: str = "") -> str:
    edges = "".join(f"<{edge}>{value}</{edge}>" for edge, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
    return f"<object><name>{name}</name>{more}<bndbox>{edges}</bndbox></object>\n"


def record_values(boxes: Sequence[Sequence[float]] = ((0.1, 0.2, 0.5, 0.6),), **changes: Any) -> dict[str, Any]:
    """The features of one record; `changes` by the last part of a key, None to leave it out."""
    values: dict[str, Any] = {
        "image/encoded": [picture()],
        "image/format": [b"jpeg"],
        "image/filename": [b"a.jpg"],
        "image/height": [48],
        "image/width": [64],
        "image/object/class/label": [1] * len(boxes),
        "image/object/class/text": [b"cat"] * len(boxes),
    }
    for column, edge in enumerate(("xmin", "ymin", "xmax", "ymax")):
        values[f"image/object/bbox/{edge}"] = [float(box[column]) for box in boxes]
    for name, change in changes.items():
        key = next((key for key in values if key.endswith(f"/{name}")), f"image/object/{name}")
        values[key] = change
    return {key: value for key, value in values.items() if value is not None}


def record_bytes(*examples: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    for values in examples:
        tfrecord_file.write(out, record_features.encode_example(values))
    return out.getvalue()


def small_set(root: Path, splits: Sequence[str] = ("train", "val"), boxes_each: int = 2) -> DataSet:
    """One image for each split, in no format: written by a writer under test."""
    made: list[Example] = []
    for number, split in enumerate(splits):
        image = root / "made" / f"{number}.jpg"
        put(root, {f"made/{number}.jpg": picture(64 + number, 48)})
        boxes = [(1.5 + box, 2.0, 11.25 + box, 22.0) for box in range(boxes_each)]
        flags = [box % 2 == 0 for box in range(boxes_each)]
        made.append(
            create_example(
                name=f"{number}.jpg",
                image=ImageSource(image),
                size=(64 + number, 48),
                boxes=boxes,
                classes=[box % 2 for box in range(boxes_each)],
                origin=Origin("made"),
                crowd=flags,
                difficult=flags,
                truncated=flags,
                split=split,
            )
        )
    return DataSet(root, "made", ("cat", "dog"), (1, 2), made)


def problems(data: DataSet) -> list[str]:
    return sorted(finding.problem for finding in data.findings)


def finding(data: DataSet, problem: str) -> str:
    """The one finding of this name: place and message."""
    (found,) = [finding for finding in data.findings if finding.problem == problem]
    return f"{found.origin}: {found.message}"


def same_boxes(one: Example, other: Example, within: float) -> bool:
    return one.boxes.shape == other.boxes.shape and bool(np.allclose(one.boxes, other.boxes, rtol=0, atol=within, equal_nan=True))
