"""What a training on a card loses by the threads that feed it, and how many of them help.

    python -m benchmarks.autotune [--threads 17] [--rounds 3] [--seconds 20] [--out FILE]

The card is a clock here: a step of it takes 24 ms (SSD300 with 32 images on an H200), and is launched by 300 small calls of
PyTorch, each of which lets go of the interpreter's lock and must have it again before the next. The pipeline is the real one,
over JPEG files: small ones (80 pixels), of which next to nothing but Python is left, and photographs of 640×480. Two ways, by
turns, in a process of their own each: as many threads as help, and all that are allowed. Counted is the second half of a turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import written

OUT = Path("benchmarks/results/autotune.json")
STEP_S = 0.024
CALLS = 300
BATCH, PX = 32, 300
WAYS = ("as many as help", "all")
INPUTS = {"80 px, flipped": (80, "flip"), "80 px, SSD's augmentations": (80, "SSD"), "640 px, flipped": (640, "flip")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=17, help="allowed: a machine with 16 cores has one more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of a turn")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for name, (width, augmented) in INPUTS.items():
            folder = Path(place) / str(width)
            turns = [
                {"input": name, "way": way, **turn(folder, width, augmented, way, arguments.threads, arguments.seconds)}
                for _ in range(arguments.rounds)
                for way in WAYS
            ]
            rows += [summed([each for each in turns if each["way"] == way]) for way in WAYS]
            show(rows[-len(WAYS) :])
    written.write(arguments.out, {"cores": len(os.sched_getaffinity(0)), "threads": arguments.threads, "rows": rows})


def turn(folder: Path, width: int, augmented: str, way: str, threads: int, seconds: float) -> dict[str, Any]:
    asked = json.dumps([str(folder), width, augmented, way, threads, seconds])
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.autotune import inner; inner(*{asked})"],
        capture_output=True, text=True, check=True, env={**os.environ, "KERAS_BACKEND": "torch"},
    )  # fmt: skip
    plain: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return plain


def summed(turns: list[dict[str, Any]]) -> dict[str, Any]:
    figures = ("images_per_s", "launch_ms", "wait_ms", "threads")
    return {**turns[0], **{name: round(median(turn[name] for turn in turns), 2) for name in figures}, "turns": len(turns)}


def show(rows: list[dict[str, Any]]) -> None:
    print("| input | threads | at work | images/s | launching a step | waiting for input |\n|" + " --- |" * 6)
    for row in rows:
        cells = f"{row['threads']:.0f} | {row['images_per_s']:.0f} | {row['launch_ms']:.1f} ms | {row['wait_ms']:.1f} ms"
        print(f"| {row['input']} | {row['way']} | {cells} |", flush=True)


# --- the inner process ---


def inner(folder: str, width: int, augmented: str, way: str, threads: int, seconds: float) -> None:
    import torch

    from unstall.data.augment.augmentations import SSD, HorizontalFlip
    from unstall.data.formats import read
    from unstall.data.pipeline import Pipeline, PipelineSettings, autotune

    if way == "all":
        autotune.FIRST, autotune.PERIOD_S = threads, float("inf")
    torch.set_num_threads(1)
    _take(Path(folder), width)
    augmentations = SSD if augmented == "SSD" else (HorizontalFlip(),)
    settings = PipelineSettings(
        batch_size=BATCH, height_px=PX, width_px=PX, augmentations=augmentations, num_input_workers=threads
    )  # fmt: skip
    stream: Any = Pipeline(read(Path(folder)), settings).batches(epochs=None)
    ends_at = time.perf_counter() + seconds
    _drive(stream, ends_at - seconds / 2)
    result = _drive(stream, ends_at)
    print(json.dumps({**result, "threads": stream.measured().at_work}), flush=True)
    stream.close()


def _take(folder: Path, width: int) -> None:
    from benchmarks import fed_card

    fed_card.WIDTH, fed_card.HEIGHT = width, width * 3 // 4
    if not folder.exists():
        fed_card.take_photographs(folder, 200)


def _drive(stream: Any, until: float) -> dict[str, float]:
    """As the trainer does: the next step is launched before the last is waited for."""
    import torch

    ones = torch.ones(64)
    steps, launch_s, wait_s = 0, 0.0, 0.0
    began = done_at = time.perf_counter()
    while time.perf_counter() < until:
        asked = time.perf_counter()
        next(stream)
        taken = time.perf_counter()
        value = ones
        for _ in range(CALLS):
            value = value + 1
        launched = time.perf_counter()
        steps, launch_s, wait_s = steps + 1, launch_s + launched - taken, wait_s + taken - asked
        last_done_at, done_at = done_at, max(done_at, launched) + STEP_S
        time.sleep(max(0.0, last_done_at - time.perf_counter()))
    seconds = time.perf_counter() - began
    return {"images_per_s": BATCH * steps / seconds, "launch_ms": 1000 * launch_s / steps, "wait_ms": 1000 * wait_s / steps}


if __name__ == "__main__":
    main()
