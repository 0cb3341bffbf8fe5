"""What suppression costs: RetinaNet's forward pass on one image of 640 px, and what is made of its outputs, by turns.

    python -m benchmarks.postprocessing [--backends tensorflow,jax,torch] [--out benchmarks/results/postprocessing.json]

Ninety classes, 1,000 candidates: the outputs are random, with as many above the least score as a crowded picture has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import written

PX, CLASSES, CANDIDATES = 640, 90, 1000
ROUNDS = 15
NEEDED = 0.1


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """As the backend runs it: compiled where it compiles."""
    import keras

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        run = jax.jit(function)
        return lambda *values: jax.block_until_ready(run(*values))
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function, jit_compile=False)  # type: ignore[no-any-return]
    import torch

    return torch.no_grad()(function)  # type: ignore[no-any-return]


def measure() -> dict[str, Any]:
    import keras
    import numpy as np

    from unstall.detectors import create_model

    changes: dict[str, Any] = {"image_size": (PX, PX), "num_classes": CLASSES, "pre_nms_top_k": CANDIDATES // 5}
    detector: Any = create_model("retinanet_resnet50_fpn_v2", **changes)
    random = np.random.default_rng(0)
    image = keras.ops.convert_to_tensor(random.integers(0, 256, (1, PX, PX, 3)).astype(np.float32))
    crowded = {
        "classes": [_crowded(random, len(own)) for own in detector.anchors_of_level],
        "boxes": [random.normal(0, 0.3, (1, len(own), 4)).astype(np.float32) for own in detector.anchors_of_level],
    }
    crowded = {name: [keras.ops.convert_to_tensor(level) for level in levels] for name, levels in crowded.items()}
    forward = compiled(lambda pixels: detector(pixels, training=False))
    finish = compiled(lambda raw: tuple(detector.select_detections(raw)))
    found = finish(crowded)
    forward(image)
    forward_s, finish_s = [], []
    for _ in range(ROUNDS):
        forward_s.append(_seconds(forward, image))
        finish_s.append(_seconds(finish, crowded))
    ratios = [own / whole for own, whole in zip(finish_s, forward_s, strict=True)]
    return {
        "backend": keras.backend.backend(),
        "forward_ms": round(1000 * statistics.median(forward_s), 2),
        "postprocessing_ms": round(1000 * statistics.median(finish_s), 2),
        "share": round(statistics.median(ratios), 4),
        "detections": int((keras.ops.convert_to_numpy(found[1]) > 0).sum()),
    }


def _crowded(random: Any, anchors: int) -> Any:
    """Logits of one level: nearly all far below the least score, and some hundred places where something is seen."""
    logits = random.normal(-8.0, 1.0, (1, anchors, CLASSES + 1)).astype("float32")
    places = random.integers(0, anchors, 200)
    logits[0, places, random.integers(1, CLASSES + 1, 200)] = random.normal(0.0, 1.0, 200)
    return logits


def _seconds(function: Callable[..., Any], value: Any) -> float:
    began = time.perf_counter()
    function(value)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--out", default="benchmarks/results/postprocessing.json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print("ROW " + json.dumps(measure()), flush=True)
        return
    rows = []
    for backend in arguments.backends.split(","):
        env = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.postprocessing", "--one"], env=env, capture_output=True, text=True, check=False
        )
        line = next((line for line in done.stdout.splitlines() if line.startswith("ROW ")), None)
        if line is None:
            raise SystemExit(f"{backend} failed:\n{done.stderr[-2000:]}")
        rows.append(json.loads(line[4:]))
    show(rows)
    written.write(arguments.out, {"rows": rows})


def show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="from outputs to boxes, one image of 640 px, 90 classes, 1,000 candidates")
    for name in ("backend", "forward pass", "post-processing", "share", "needed"):
        table.add_column(name, justify="left" if name == "backend" else "right")
    for row in rows:
        style = "green" if row["share"] < NEEDED else "red"
        table.add_row(
            row["backend"], f"{row['forward_ms']:.0f} ms", f"{row['postprocessing_ms']:.1f} ms",
            f"[{style}]{100 * row['share']:.1f} %[/]", f"{100 * NEEDED:.0f} %",
        )  # fmt: skip
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
