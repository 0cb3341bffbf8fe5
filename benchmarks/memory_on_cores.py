"""What a step takes on the cores of this machine, against the estimate that a plan goes by there where nothing better is quick.

    python -m benchmarks.memory_on_cores [--backends tensorflow,jax,torch] [--only TEXT] [--out FILE]

Each configuration, phase and backend in a process of its own: estimated from shapes, then made a few times, with the peak of the
process held against it. Too little is worse than too much: who goes by it is killed for memory. Rows are kept as they come.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import written
from benchmarks.memory_cases import CLASSES, Case

OUT = Path("benchmarks/results/memory_on_cores.json")
MAX_S = 400.0
GIB = 2**30
CASES = (
    Case("ssd_tiny", 192, 32, 32, "float32"),
    Case("ssdlite320_mobilenet_v3_large", 320, 8, 8, "float32"),
    Case("ssd300_vgg16", 300, 4, 4, "float32"),
    Case("retinanet_resnet50_fpn", 320, 2, 2, "float32"),
    Case("retinanet_resnet50_fpn", 320, 2, 2, "float32", remat=True),
    Case("fasterrcnn_mobilenet_v3_large_fpn", 320, 4, 4, "float32"),
    Case("fasterrcnn_resnet50_fpn", 320, 2, 2, "float32", optimizer="adamw"),
    # Looked at when the figures of the estimate were set by those above:
    Case("retinanet_resnet50_fpn_v2", 416, 1, 1, "float32"),
    Case("fasterrcnn_mobilenet_v3_large_fpn", 512, 2, 1, "float32", ema_decay=0.999),
)
PHASES = ("training", "evaluation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--only", default="", metavar="TEXT", help="configurations with this in their name")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    earlier = written.kept(arguments.out)
    rows: list[dict[str, Any]] = earlier.get("rows", [])
    for case in (each for each in CASES if arguments.only in each.name):
        for backend in arguments.backends.split(","):
            for phase in PHASES:
                row = {"name": case.name, "backend": backend, "phase": phase}
                row.update(asked(case, backend, phase))
                known = {"name", "backend", "phase"}
                rows = [each for each in rows if any(each[key] != row[key] for key in known)] + [row]
                written.write(arguments.out, {"rows": rows}, earlier)
                print(json.dumps(row), file=sys.stderr, flush=True)
    show(rows)


def asked(case: Case, backend: str, phase: str) -> dict[str, Any]:
    question = json.dumps([case.settings(), phase])
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"from benchmarks.memory_on_cores import inner; inner({question!r})"],
            capture_output=True, text=True, check=False, timeout=MAX_S,
            env={**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {MAX_S:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    plain: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": done.stderr[-500:]}
    return plain


def show(rows: list[dict[str, Any]]) -> None:
    print("| configuration | backend | step | estimated | measured | of which |\n|" + " --- |" * 6)
    good = [row for row in rows if "measured" in row]
    for row in good:
        share = row["estimated"] / row["measured"]
        cells = f"{row['estimated'] / GIB:.2f} GiB | {row['measured'] / GIB:.2f} GiB | {share:.2f}"
        print(f"| {row['name']} | {row['backend']} | {row['phase']} | {cells} |")
    for phase in PHASES:
        shares = [row["estimated"] / row["measured"] for row in good if row["phase"] == phase]
        if shares:
            print(f"\n{phase}: {min(shares):.2f} to {max(shares):.2f} of what was measured, median {median(shares):.2f}.")


# --- the inner process ---


def inner(question: str) -> None:
    from unstall.config.settings import from_plain
    from unstall.planning.memory.estimate import estimate_step
    from unstall.planning.memory.measurement import measure_step
    from unstall.planning.memory.server import build_detector_of

    plain, phase = json.loads(question)
    if phase == "evaluation":  # of as many images at once as are trained
        plain["batch_size"] = plain["micro_batch_size"]
    settings = from_plain(plain)
    detector = build_detector_of(settings, {**settings.detector, "classes": CLASSES})
    guess = estimate_step(detector, settings, phase, os.environ["KERAS_BACKEND"])
    taken = measure_step(detector, settings, phase)
    print(json.dumps({"estimated": guess.need, "measured": taken.need, "layers": sum(each.bytes for each in guess.layers)}))


if __name__ == "__main__":
    main()
