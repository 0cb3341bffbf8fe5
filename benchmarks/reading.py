"""How long it takes to read and convert data sets of 10,000, 100,000 and 1,000,000 boxes in each format, and in how much memory.

    python -m benchmarks.reading [--boxes 10000,100000,1000000] [--out benchmarks/results/reading.json]

A data set is made in COCO (10 boxes to an image, 80 classes; the images are tiny, so that annotations are what is measured), then
converted into each format and read from there. Each reading and each converting runs in a process of its own; its peak of
memory is the process's, Python and NumPy (40 MiB) included. `coco alone` is the JSON file without its images.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import written

BOXES_OF_AN_IMAGE = 10
CLASSES = 80
FORMATS = ("coco", "voc", "yolo", "tfrecord")


def make_coco(folder: Path, boxes: int) -> None:
    draw = random.Random(boxes)
    images, entries = boxes // BOXES_OF_AN_IMAGE, []
    for number in range(boxes):
        box = [
            round(draw.uniform(0, 500), 2),
            round(draw.uniform(0, 380), 2),
            round(draw.uniform(4, 140), 2),
            round(draw.uniform(4, 100), 2),
        ]
        polygon = [box[0], box[1], box[0] + box[2], box[1], box[0] + box[2], box[1] + box[3]]
        image, category = number // BOXES_OF_AN_IMAGE + 1, draw.randint(1, CLASSES)
        entry = {"id": number + 1, "image_id": image, "category_id": category, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        entries.append({**entry, "segmentation": [polygon]})
    draw.shuffle(entries)  # COCO's own file is not in the order of its images
    named = [{"id": number + 1, "file_name": f"{number:012d}.jpg", "width": 640, "height": 480} for number in range(images)]
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, CLASSES + 1)]
    (folder / "annotations").mkdir(parents=True)
    whole = {"images": named, "annotations": entries, "categories": categories}
    (folder / "annotations" / "instances_train.json").write_text(json.dumps(whole))


def add_images(folder: Path, images: int) -> None:
    (folder / "train").mkdir()
    content = tiny_jpeg()
    for number in range(images):
        (folder / "train" / f"{number:012d}.jpg").write_bytes(content)


def tiny_jpeg() -> bytes:
    """640×480, all of one grey."""
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("L", (640, 480), 128).save(out, "JPEG", quality=10)
    return out.getvalue()


def measured(*arguments: str) -> dict[str, Any]:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reading", "--one", *arguments], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def one(arguments: list[str]) -> dict[str, Any]:
    from unstall.data import formats
    from unstall.data.tools.convert import convert

    began, cpu = time.perf_counter(), time.process_time()
    if arguments[0] == "read":
        boxes = formats.read(arguments[1], arguments[2]).box_count
    else:
        boxes = convert(Path(arguments[1]), Path(arguments[2]), arguments[3], link=True).data.box_count
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"boxes": boxes, "seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "peak_mib": peak_mib()}


def peak_mib() -> int:
    """Of this process alone: getrusage would count what its parent had when it was forked."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def measure(boxes: int, place: Path) -> list[dict[str, Any]]:
    made = place / "made"
    make_coco(made, boxes)
    rows = [{"what": "read", "format": "coco alone", **measured("read", str(made), "coco")}]
    show(rows[-1])
    add_images(made, boxes // BOXES_OF_AN_IMAGE)
    for name in FORMATS:
        target = place / name
        rows.append({"what": "convert", "format": f"coco → {name}", **measured("convert", str(made), str(target), name)})
        show(rows[-1])
        rows.append({"what": "read", "format": name, **measured("read", str(target), name)})
        show(rows[-1])
        shutil.rmtree(target)
    return rows


def show(row: dict[str, Any]) -> None:
    speed = row["boxes"] / max(row["seconds"], 1e-9)
    columns = f"{row['boxes']:>10,} {row['seconds']:>8.2f} {row['cpu_s']:>8.2f} {speed:>12,.0f} {row['peak_mib']:>7,}"
    print(f"{row['what']:8} {row['format']:16} {columns}", flush=True)


def growth(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Seconds for ten times the boxes, step by step: 10 is linear, less is fixed cost."""
    steps: dict[str, list[float]] = {}
    kinds = dict.fromkeys((row["what"], row["format"]) for row in rows)
    for kind in kinds:
        cpu = [row["cpu_s"] for row in rows if (row["what"], row["format"]) == kind]
        steps[" ".join(kind)] = [round(after / max(before, 0.01), 1) for before, after in pairwise(cpu)]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--boxes", default="10000,100000,1000000")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/reading.json"))
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one)))
        return
    print(f"{'what':8} {'format':16} {'boxes':>10} {'s':>8} {'CPU s':>8} {'boxes/s':>12} {'MiB':>7}")
    rows: list[dict[str, Any]] = []
    for boxes in (int(text) for text in arguments.boxes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(boxes, Path(folder))
        steps = growth(rows)
        written.write(arguments.out, {"cores": os.cpu_count(), "rows": rows, "growth": steps})
    print("\nCPU time for ten times the boxes (10 is linear):")
    for name, factors in growth(rows).items():
        print(f"  {name:24} {factors}")


if __name__ == "__main__":
    main()
