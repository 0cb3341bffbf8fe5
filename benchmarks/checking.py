"""How fast a data set is checked: against pure decoding on all cores, in turns; and a million boxes without images.

    python -m benchmarks.checking [--rounds 5] [--images 600] [--boxes 10000,100000,1000000] [--out FILE]

In each round every image of a set is decoded to RGB by libjpeg-turbo (PNG: OpenCV), in one thread for each core and nothing
else (the limit), and the same set is read and checked whole (`unstall data check`), in random order. Shown are images a
second, the median over the rounds, and the median of the rounds' ratios, by the clock (needed: 0.8) and by processor time,
which other programs on the machine disturb less. Files of boxes are checked in a
process of their own, which gives its peak of resident memory. Needed for 1,000,000 boxes: under 60 s and 4 GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks import written
from unstall.data.check.images import BLOCK
from unstall.data.check.runner import check
from unstall.data.example import Example
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, write_shapes

# name, width, height, share of --images
SETS = (("JPEG 640×480", 640, 480, 1.0), ("JPEG 1920×1080", 1920, 1080, 0.25), ("PNG 640×480", 640, 480, 0.25))
BOXES_AN_IMAGE = 10
MIN_RATIO, MAX_S, MAX_GIB = 0.8, 60.0, 4.0


# --- images ---


def measured(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    data = read(folder)
    ways: dict[str, Callable[[], object]] = {
        "decoding": lambda: decode_all(data.examples),
        "checking": lambda: check(read(folder)),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    busy: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds + 1):
        for way in random.sample(sorted(ways), len(ways)):
            began, began_busy = time.perf_counter(), time.process_time()
            ways[way]()
            seconds[way].append(time.perf_counter() - began)
            busy[way].append(time.process_time() - began_busy)
    count = len(data.examples)
    kept = {way: values[1:] for way, values in seconds.items()}  # the first round fills the cache of the file system
    return {
        "set": name,
        "images": count,
        "rounds": rounds,
        "decoding_images_per_s": round(count / statistics.median(kept["decoding"]), 1),
        "checking_images_per_s": round(count / statistics.median(kept["checking"]), 1),
        "ratio": _ratio(kept),
        "cpu_ratio": _ratio({way: values[1:] for way, values in busy.items()}),
    }


def _ratio(spent: dict[str, list[float]]) -> float:
    return round(statistics.median(one / two for one, two in zip(spent["decoding"], spent["checking"], strict=True)), 3)


def decode_all(examples: Sequence[Example]) -> None:
    """The limit: bytes to RGB and nothing else, in blocks as the check has them."""
    import simplejpeg

    def decode_block(block: Sequence[Example]) -> None:
        for example in block:
            assert example.image is not None
            content = example.image.read()
            if content[:2] == b"\xff\xd8":
                simplejpeg.decode_jpeg(content)
            else:
                cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)

    blocks = [examples[start : start + BLOCK] for start in range(0, len(examples), BLOCK)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(decode_block, blocks))


def as_png(folder: Path) -> None:
    """The same pictures as PNG, under the same annotations."""
    for path in folder.glob("*/*.jpg"):
        picture = cv2.imread(str(path))
        assert picture is not None
        cv2.imwrite(str(path.with_suffix(".png")), picture)
        path.unlink()
    for path in folder.glob("annotations/*.json"):
        path.write_text(path.read_text().replace('.jpg"', '.png"'))


# --- boxes ---


def write_boxes(path: Path, count: int) -> None:
    random_numbers = np.random.default_rng(0)
    corners = random_numbers.uniform(0, (500, 350), (count, 2)).round(2)
    sides = random_numbers.uniform(8, 120, (count, 2)).round(2)
    images = [
        {"id": row, "file_name": f"{row:07d}.jpg", "width": 640, "height": 480} for row in range(-(-count // BOXES_AN_IMAGE))
    ]
    boxes = [
        {
            "id": index,
            "image_id": index // BOXES_AN_IMAGE,
            "category_id": index % 80 + 1,
            "bbox": [*corners[index].tolist(), *sides[index].tolist()],
            "area": float(sides[index].prod()),
            "iscrowd": 0,
        }
        for index in range(count)
    ]
    classes = [{"id": number, "name": f"class {number}"} for number in range(1, 81)]
    path.write_text(json.dumps({"images": images, "annotations": boxes, "categories": classes}))


def measured_boxes(folder: Path, count: int) -> dict[str, Any]:
    path = folder / f"instances_{count}.json"
    write_boxes(path, count)
    command = [sys.executable, "-m", "unstall", "data", "check", str(path), "--no-images", "--json", str(folder / "found.json")]
    began = time.perf_counter()
    child = os.spawnve(os.P_NOWAIT, sys.executable, command, {**os.environ})
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - began
    found = json.loads((folder / "found.json").read_text())
    problems = {row["problem"]: row["count"] for row in found["problems"]}
    assert found["boxes"] == count, found["boxes"]
    assert not problems and os.waitstatus_to_exitcode(status) == 0, problems
    return {
        "boxes": count,
        "file_mb": round(path.stat().st_size / 1e6, 1),
        "seconds": round(seconds, 2),
        "peak_gib": round(used.ru_maxrss / 2**20, 3),
    }


# --- all ---


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--boxes", default="10000,100000,1000000")
    parser.add_argument("--out", default="benchmarks/results/checking.json")
    arguments = parser.parse_args()
    images, boxes = [], []
    for name, width, height, share in SETS:
        with tempfile.TemporaryDirectory() as folder:
            write_shapes(Path(folder) / "set", Shapes(max(8, round(share * arguments.images)), width, height), "coco")
            if name.startswith("PNG"):
                as_png(Path(folder) / "set")
            images.append(measured(name, Path(folder) / "set", arguments.rounds))
    with tempfile.TemporaryDirectory() as folder:
        for count in map(int, filter(None, arguments.boxes.split(","))):
            boxes.append(measured_boxes(Path(folder), count))
    show(images, boxes)
    cores = len(os.sched_getaffinity(0))
    written.write(arguments.out, {"cores": cores, "images": images, "boxes": boxes})


def show(images: list[dict[str, Any]], boxes: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"checking against pure decoding, {len(os.sched_getaffinity(0))} cores")
    for name in ("set", "images", "decoding, images/s", "checking, images/s", f"ratio (needed {MIN_RATIO})", "by CPU time"):
        table.add_column(name, justify="left" if name == "set" else "right")
    for row in images:
        decoding, checking = f"{row['decoding_images_per_s']:,.0f}", f"{row['checking_images_per_s']:,.0f}"
        table.add_row(row["set"], f"{row['images']:,}", decoding, checking, f"{row['ratio']:.2f}", f"{row['cpu_ratio']:.2f}")
    Console().print(table)
    table = Table(title="a COCO file checked without images, start of the interpreter included")
    for name in ("boxes", "file", f"seconds (at most {MAX_S:.0f})", f"peak memory (at most {MAX_GIB:.0f} GiB)"):
        table.add_column(name, justify="right")
    for row in boxes:
        table.add_row(f"{row['boxes']:,}", f"{row['file_mb']:,.0f} MB", f"{row['seconds']:.1f}", f"{row['peak_gib']:.2f} GiB")
    Console().print(table)


if __name__ == "__main__":
    main()
