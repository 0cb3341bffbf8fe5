"""What `unstall train` costs: its images per second against those of a bare loop over the same step and the same input.

    python -m benchmarks.supervised [--backend jax] [--pairs 3] [--steps 250] [--out benchmarks/results/supervised.json]

A pair is two processes, one after the other, the first of them by turns: the bare loop (pipeline, step, a loss read three steps
late, nothing else), and the whole of `unstall train`: watched from outside, probed inside, journalled, a checkpoint every ten
seconds (thirty times as often as it has them by itself). Counted is from the tenth step on: compilation and start are not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks import written
from unstall.config.settings import Settings, apply_changes, as_plain

BACKENDS = ("tensorflow", "jax", "torch")
NEEDED = 0.97
FIRST_STEP = 10
LAG = 3  # steps, as the trainer reads them
TINY = Settings(
    model="ssd_tiny", batch_size=8, optimizer="adamw", learning_rate=2e-3, max_boxes_per_image=10, cache_bytes=2**30,
    eval_interval=0,
    val_split=0.1, checkpoint_interval_s=10.0, tensorboard=False,
)  # fmt: skip

OPTIONS = (
    "model", "backend", "batch_size", "optimizer", "learning_rate", "max_boxes_per_image", "cache_bytes", "eval_interval",
    "val_split", "checkpoint_interval_s", "synthetic_images", "epochs", "warmup_steps",
)  # fmt: skip


def bare(settings: Settings, folder: Path) -> float:
    """Images per second."""
    from unstall import backends

    backends.choose(settings.backend, takes_card=True)
    from unstall.training.loop import setup
    from unstall.training.loop.datasets import load_datasets
    from unstall.training.step.step import Step

    learned = load_datasets(settings, setup.get_image_size(settings), folder)
    detector = setup.build_detector(settings, learned.classes, print)
    pipeline = setup.create_pipeline(settings, detector, learned.train)
    step = Step(detector, settings, settings.epochs * pipeline.steps_per_epoch)
    result: deque[Any] = deque()
    began, done = 0.0, 0
    with pipeline.batches(epochs=settings.epochs) as batches:
        for batch in batches:
            result.append(step(batch.inputs()))
            done += 1
            if len(result) > LAG:
                result.popleft().read()
            if done == FIRST_STEP:
                began = time.monotonic()
    while result:
        result.popleft().read()
    return (done - FIRST_STEP) * settings.batch_size / (time.monotonic() - began)


def supervised(settings: Settings, folder: Path) -> float:
    """The same of `unstall train`, as its journal tells."""
    from unstall.journal.events import StepsEnded
    from unstall.journal.reader import read_stream

    run = folder / "run"
    options = [word for name in OPTIONS for word in (f"--{name.replace('_', '-')}", str(getattr(settings, name)))]
    command = [sys.executable, "-m", "unstall", "train", "--out", str(run), "--no-tensorboard", "--force", *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    groups = [each for each in read_stream(run) if isinstance(each, StepsEnded) and each.phase == "train"]
    first = next(each for each in groups if each.last + 1 >= FIRST_STEP)
    return (groups[-1].last - first.last) * settings.batch_size / (groups[-1].at - first.at)


def in_a_process(way: str, settings: Settings) -> float:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        if way == "supervised":
            return supervised(settings, Path(folder))
        command = [sys.executable, "-m", "benchmarks.supervised", "--bare", json.dumps(as_plain(settings)), folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **quiet})
        return float(done.stdout.splitlines()[-1])


def measured(backend: str, pairs: int, steps: int) -> dict[str, Any]:
    shapes = 400
    epochs = max(1, round(steps / (int(shapes * (1 - TINY.val_split)) // TINY.batch_size)))
    settings = apply_changes(TINY, {"backend": backend, "synthetic_images": shapes, "epochs": epochs, "warmup_steps": 20})
    rates: dict[str, list[float]] = {"bare": [], "supervised": []}
    for number in range(pairs):
        for way in sorted(rates, reverse=number % 2 == 1):
            rates[way].append(in_a_process(way, settings))
            print(f"{backend} {way}: {rates[way][-1]:.1f} images/s", file=sys.stderr, flush=True)
    ratios = [one / other for one, other in zip(rates["supervised"], rates["bare"], strict=True)]
    return {"backend": backend, "images_per_s": rates, "ratios": ratios, "ratio": statistics.median(ratios)}


def show(rows: list[dict[str, Any]]) -> None:
    print(f"At least {NEEDED} of the bare loop's images per second is needed.\n")
    print("| backend | bare | supervised | ratio | of each pair |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        bare_rate, whole = (statistics.median(row["images_per_s"][way]) for way in ("bare", "supervised"))
        pairs = ", ".join(f"{each:.2f}" for each in row["ratios"])
        print(f"| {row['backend']} | {bare_rate:.1f} | {whole:.1f} | {row['ratio']:.3f} | {pairs} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="may be given several times; all if it is not given")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/supervised.json"))
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        from unstall.config.settings import from_plain

        plain, folder = arguments.bare
        print(bare(from_plain(json.loads(plain)), Path(folder)))
        return
    rows = [measured(backend, arguments.pairs, arguments.steps) for backend in arguments.backend or BACKENDS]
    show(rows)
    earlier = written.kept(arguments.out)
    new = {row["backend"] for row in rows}
    rows = [row for row in earlier.get("rows", []) if row["backend"] not in new] + rows
    written.write(arguments.out, {"load_average": os.getloadavg(), "rows": rows}, earlier)


if __name__ == "__main__":
    main()
