"""A training step of RetinaNet on two CPU cores: Unstall's and KerasHub's of the same size, in turns.

    python -m benchmarks.step --kerashub FOLDER [--backend jax] [--rounds 5] [--px 320] [--out benchmarks/results/step.json]

KerasHub is no dependency: FOLDER is where it was installed (pip install --target FOLDER keras-hub). Each contestant runs in a
process of its own, stopped (SIGSTOP) while it is not its turn. A round is one step of each, in random order; ratios are formed
within a round. Both: ResNet-50, 90 classes, all layers trained, batch norms too, Keras's SGD, compiled as `fit` compiles.

The limit: the products of the step's convolutions (forward, and twice for the gradients) at the speed of one large product of
matrices on the same cores. No step in float32 with the same layers can be faster, so that says what ratio is possible at most.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import written

WAYS = ("Unstall", "KerasHub")
LIMIT = "limit"
BACKENDS = ("tensorflow", "jax")
NEEDED = 1.3
CLASSES, BOXES = 90, 8
RATE = 1e-4


def batch_of(size: int, px: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    corner = rng.random((size, BOXES, 2)) * 0.7 * px
    side = (0.05 + rng.random((size, BOXES, 2)) * 0.25) * px
    return {
        "images": rng.integers(0, 256, (size, px, px, 3), np.uint8),
        "boxes": np.concatenate([corner, corner + side], axis=2).astype(np.float32),
        "classes": rng.integers(0, CLASSES, (size, BOXES)).astype(np.int32),
        "mask": np.ones((size, BOXES), np.bool_),
    }


# --- in the contestant's process ---


def step_of_unstall(size: int, px: int) -> Callable[[], Any]:
    from unstall.config.settings import Settings
    from unstall.detectors import create_model
    from unstall.training.step.step import Step

    changes = {"image_size": (px, px), "num_classes": CLASSES, "trainable_backbone_layers": 5, "freeze_batch_norm": False}
    detector = create_model("retinanet_resnet50_fpn", **changes)
    rules = Settings(
        optimizer="sgd",
        learning_rate=RATE,
        weight_decay=0.0,
        clip_norm=0.0,
        warmup_steps=0,
        lr_schedule="constant",
        batch_size=size,
    )
    step, batch = Step(detector, rules, 1_000_000), batch_of(size, px)
    return lambda: step(batch).read()


def step_of_kerashub(size: int, px: int) -> Callable[[], Any]:
    import keras
    import keras_hub

    shape = (px, px, 3)
    encoder = keras_hub.models.ResNetBackbone(
        [64], [7], [64, 128, 256, 512], [3, 4, 6, 3], [1, 2, 2, 2], "bottleneck_block", image_shape=shape
    )
    backbone = keras_hub.models.RetinaNetBackbone(encoder, min_level=3, max_level=7, use_p5=False, image_shape=shape)
    model = keras_hub.models.RetinaNetObjectDetector(backbone, num_classes=CLASSES, bounding_box_format="xyxy")
    model.compile(keras.optimizers.SGD(RATE, momentum=0.9))
    batch = batch_of(size, px)
    images = batch["images"].astype(np.float32) / 255
    wanted = {"boxes": batch["boxes"], "labels": batch["classes"].astype(np.float32)}
    # Keras's own: KerasHub's takes one array of targets, and this detector has two.
    return lambda: keras.Model.train_on_batch(model, images, wanted)


def serve(way: str, size: int, px: int) -> None:
    """A line for the compilation, then one for each step that is asked for: seconds."""
    if way == LIMIT:
        limit_of(size, px)
        return
    step = {"Unstall": step_of_unstall, "KerasHub": step_of_kerashub}[way](size, px)
    for _ in range(2):  # the second is no longer compiled, nor is it counted
        began = time.monotonic()
        step()
        print(time.monotonic() - began, flush=True)
    for _ in sys.stdin:
        began = time.monotonic()
        step()
        print(time.monotonic() - began, flush=True)


# --- the limit ---


def products_of_step(size: int, px: int) -> float:
    """Multiplications and additions of all convolutions, by the shapes of their outputs."""
    import keras

    from unstall.detectors import create_model

    detector = create_model("retinanet_resnet50_fpn", image_size=(px, px), num_classes=CLASSES)
    counted: list[int] = []

    def counting(layer: Any) -> None:
        call = layer.call

        def counted_call(x: Any) -> Any:
            result = call(x)
            _, height, width, _ = result.shape
            counted.append(2 * size * height * width * int(np.prod(layer.kernel.shape)))
            return result

        layer.call = counted_call

    for layer in detector._flatten_layers():
        if isinstance(layer, keras.layers.Conv2D):
            counting(layer)
    detector(np.zeros((1, px, px, 3), np.uint8))
    return 3.0 * sum(counted)


def matrix_speed(side: int = 3000, times: int = 10) -> float:
    """Multiplications and additions in a second, of the fastest of some products."""
    one = np.random.default_rng(0).random((side, side), np.float32)
    seconds = []
    for _ in range(times):
        began = time.monotonic()
        np.matmul(one, one)
        seconds.append(time.monotonic() - began)
    return float(2 * side**3 / min(seconds))


def limit_of(size: int, px: int) -> None:
    print(products_of_step(size, px), matrix_speed(), flush=True)


def limit(arguments: argparse.Namespace) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.step",
        "--serve",
        LIMIT,
        "--batch",
        str(arguments.batch),
        "--px",
        str(arguments.px),
    ]
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    )  # fmt: skip
    products, speed = map(float, said.stdout.split())
    return {"gigaflop": products / 1e9, "gigaflop_per_s": speed / 1e9, "step_s": products / speed}


# --- in turns ---


class Competitor:
    def __init__(self, way: str, backend: str, arguments: argparse.Namespace) -> None:
        command = [
            sys.executable,
            "-m",
            "benchmarks.step",
            "--serve",
            way,
            "--batch",
            str(arguments.batch),
            "--px",
            str(arguments.px),
        ]
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": backend}
        paths = [os.environ.get("PYTHONPATH", ""), *([str(arguments.kerashub)] if way == "KerasHub" else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
            env={**os.environ, **quiet, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        )  # fmt: skip
        self.way = way
        self.first_s, second_s = self._answer(), self._answer()
        self.compile_s = self.first_s - second_s
        self._signal(signal.SIGSTOP)

    def turn(self) -> float:
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        seconds = self._answer()
        self._signal(signal.SIGSTOP)
        return seconds

    def end(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> float:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"failed: {' '.join(map(str, self._process.args))}")  # type: ignore[arg-type]
        return float(line)

    def _signal(self, number: int) -> None:
        os.killpg(self._process.pid, number)


def measure(backend: str, arguments: argparse.Namespace) -> dict[str, Any]:
    competitors = [Competitor(way, backend, arguments) for way in WAYS]
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    try:
        for _ in range(arguments.rounds):
            for competitor in random.sample(competitors, len(competitors)):
                seconds[competitor.way].append(competitor.turn())
    finally:
        for competitor in competitors:
            competitor.end()
    ratios = [theirs / ours for ours, theirs in zip(seconds["Unstall"], seconds["KerasHub"], strict=True)]
    return {
        "backend": backend,
        "step_s": {way: round(statistics.median(values), 3) for way, values in seconds.items()},
        "compile_s": {each.way: round(each.compile_s, 1) for each in competitors},
        "times_as_fast": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
    }


def show(rows: list[dict[str, Any]], least: dict[str, float], arguments: argparse.Namespace) -> None:
    print(
        f"RetinaNet ResNet-50, batch {arguments.batch}, {arguments.px} px, float32, two cores. Needed: {NEEDED} times as fast.\n"
    )
    print(
        f"{least['gigaflop']:.0f} GFLOP a step, {least['gigaflop_per_s']:.0f} GFLOP/s: no step under {least['step_s']:.2f} s.\n"
    )
    print("| backend | Unstall | KerasHub | times as fast | possible at most | compiling, Unstall | KerasHub |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        steps, compiling = row["step_s"], row["compile_s"]
        print(
            f"| {row['backend']} | {steps['Unstall']:.2f} s | {steps['KerasHub']:.2f} s | {row['times_as_fast']:.2f} "
            f"| {steps['KerasHub'] / least['step_s']:.2f} "
            f"| {compiling['Unstall']:.0f} s | {compiling['KerasHub']:.0f} s |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kerashub", type=Path, help="folder that KerasHub is installed in")
    parser.add_argument("--backend", action="append", choices=BACKENDS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--px", type=int, default=320)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/step.json"))
    parser.add_argument("--serve", choices=(*WAYS, LIMIT), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if arguments.serve:
        serve(arguments.serve, arguments.batch, arguments.px)
        return
    if arguments.kerashub is None:
        parser.error("--kerashub FOLDER: where KerasHub is installed (pip install --target FOLDER keras-hub)")
    least = limit(arguments)
    rows = [measure(backend, arguments) for backend in arguments.backend or BACKENDS]
    show(rows, least, arguments)
    said = {
        "px": arguments.px,
        "batch": arguments.batch,
        "rounds": arguments.rounds,
        "load_average": os.getloadavg(),
        "limit": least,
        "rows": rows,
    }
    written.write(arguments.out, said)


if __name__ == "__main__":
    main()
