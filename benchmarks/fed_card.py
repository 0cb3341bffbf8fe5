"""Whether the real input keeps up with a card: what a training step waits for its batch there.

    python -m benchmarks.fed_card [--backend jax] [--cases retinanet_resnet50_fpn_v2,…] [--photographs 2000] [--out FILE]

`unstall train` as anybody calls it, over JPEG files of 640×480 pixels with seven boxes each, read, decoded, flipped and scaled
anew in every epoch: nothing is cached. Each file has ten names, so that an epoch is as long as those of real data sets are, and
what comes at its end does not count for more than it does there. The journal then says how long the steps took, and how much of
it they waited for their input. Counted is from the thirtieth step on. Under 5 % is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import written
from benchmarks.input import photograph
from benchmarks.input_loaders import boxes_of

WIDTH, HEIGHT, CLASSES = 640, 480, 20
FIRST_STEP = 30
NEEDED = 0.05
VALIDATION_SHARE = 0.002
NAMES = 10  # of each file
BACKENDS = ("jax", "torch")


class Case(NamedTuple):
    batch: int
    px: int
    epochs: int


CASES = {
    "ssd300_vgg16": Case(32, 300, 2),
    "retinanet_resnet50_fpn_v2": Case(16, 640, 1),
    "fasterrcnn_resnet50_fpn_v2": Case(16, 640, 1),
    "ssd_tiny": Case(16, 128, 2),  # to try the benchmark itself
}


def take_photographs(folder: Path, count: int) -> None:
    """A data set in COCO's form."""
    import cv2

    (folder / "images").mkdir(parents=True)

    def take(index: int) -> None:
        cv2.imwrite(str(folder / "images" / f"{index:05}.jpg"), photograph(index, WIDTH, HEIGHT), [cv2.IMWRITE_JPEG_QUALITY, 90])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(take, range(count)))
    for index in range(count, NAMES * count):
        (folder / "images" / f"{index:05}.jpg").hardlink_to(folder / "images" / f"{index % count:05}.jpg")
    count *= NAMES
    boxes = [
        {
            "id": 1 + index * 7 + number, "image_id": index, "category_id": 1 + (index + number) % CLASSES, "iscrowd": 0,
            "bbox": [left * WIDTH, top * HEIGHT, (right - left) * WIDTH, (bottom - top) * HEIGHT],
            "area": (right - left) * WIDTH * (bottom - top) * HEIGHT,
        }
        for index in range(count)
        for number, (left, top, right, bottom) in enumerate(boxes_of(index).tolist())
    ]  # fmt: skip
    images = [{"id": index, "file_name": f"images/{index:05}.jpg", "width": WIDTH, "height": HEIGHT} for index in range(count)]
    classes = [{"id": 1 + number, "name": f"class {number}"} for number in range(CLASSES)]
    (folder / "annotations.json").write_text(json.dumps({"images": images, "annotations": boxes, "categories": classes}))


def measured(model: str, backend: str, data: Path, folder: Path) -> dict[str, Any]:
    case, run = CASES[model], folder / f"{model}-{backend}"
    options = {
        "data": data, "model": model, "backend": backend, "batch-size": case.batch, "epochs": case.epochs,
        "precision": "bfloat16", "learning-rate": 1e-5, "warmup-steps": 10, "eval-interval": 0,
        "val-split": VALIDATION_SHARE, "detector": f"image_size=[{case.px},{case.px}]", "out": run,
    }  # fmt: skip
    command = [sys.executable, "-m", "unstall", "train", "--no-tensorboard", "--force"]
    command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    row: dict[str, Any] = {"model": model, "backend": backend, "batch": case.batch, "px": case.px, "cores": os.cpu_count()}
    row["whole_s"] = round(time.monotonic() - began, 1)
    return {**row, **(waits(run, case.batch) if done.returncode == 0 else {"failed": done.stdout[-1500:]})}


def waits(run: Path, batch: int) -> dict[str, Any]:
    from unstall.diagnosis.run_summary import measure_input_seconds
    from unstall.journal.events import StepsEnded
    from unstall.journal.reader import read_stream

    groups = [
        each for each in read_stream(run) if isinstance(each, StepsEnded) and each.phase == "train" and each.first >= FIRST_STEP
    ]
    seconds, steps = sum(group.seconds for group in groups), sum(group.last - group.first + 1 for group in groups)
    waited = measure_input_seconds(groups)
    return {
        "steps": steps, "step_s": seconds / steps, "images_per_s": batch * steps / seconds,
        "wait_share": None if waited is None else waited / seconds,
    }  # fmt: skip


def show(rows: list[dict[str, Any]]) -> None:
    print(f"Under {NEEDED:.0%} of a step is to be spent waiting for its input.\n")
    print("| detector | backend | batch | step | images/s | waited for input |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        begin = f"| {row['model']} | {row['backend']} | {row['batch']}"
        if "failed" in row:
            print(f"{begin} | failed | | |")
        else:
            share = "not measured" if row["wait_share"] is None else f"{row['wait_share']:.1%}"
            print(f"{begin} | {1000 * row['step_s']:.1f} ms | {row['images_per_s']:.0f} | {share} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=BACKENDS, default="jax")
    parser.add_argument("--cases", default="ssd300_vgg16,retinanet_resnet50_fpn_v2,fasterrcnn_resnet50_fpn_v2")
    parser.add_argument("--photographs", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/fed_card.json"))
    arguments = parser.parse_args()
    earlier = written.kept(arguments.out)
    rows: list[dict[str, Any]] = earlier.get("rows", [])
    with tempfile.TemporaryDirectory(prefix="unstall-fed-") as folder:
        take_photographs(Path(folder) / "photographs", arguments.photographs)
        for model in arguments.cases.split(","):
            row = measured(model, arguments.backend, Path(folder) / "photographs", Path(folder))
            print(json.dumps(row), file=sys.stderr, flush=True)
            rows = [each for each in rows if (each["model"], each["backend"]) != (model, arguments.backend)] + [row]
            written.write(arguments.out, {"rows": rows}, earlier)
    show(rows)


if __name__ == "__main__":
    main()
