"""Training steps on a GPU: Unstall on JAX and on PyTorch, torchvision, and KerasHub where it has the detector.

    python -m benchmarks.throughput [--variants a,b] [--ways …] [--recipe all,published] [--at-once 1] [--rounds 2] [--out FILE]

Everything in bfloat16, on random batches that lie on the device already, each way in a process of its own that stays: when all
are compiled they have their turns, each round in another order. `all`: every layer learns, norms included. `published`: frozen
norms, three stages of the backbone learn (KerasHub's has no such recipe).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import written

CLASSES = 90
BOXES = 8
ROUNDS = 2
STEPS, WARM_UP = 20, 3
MATRIX_PEAK = 989e12  # of an H100 or H200, dense products of bfloat16 in a second
RATE, SMALL_RATE = 1e-3, 1e-5  # without norms that learn, random weights leave every number behind at the first
# variant: (batch sizes, pixels)
CASES: dict[str, tuple[tuple[int, ...], int]] = {
    "retinanet_resnet50_fpn": ((16,), 640),
    "retinanet_resnet50_fpn_v2": ((16,), 640),
    "ssd300_vgg16": ((32,), 300),
    "fasterrcnn_resnet50_fpn_v2": ((16,), 640),
}
WAYS = ("torchvision", "kerashub-jax", "unstall-jax", "unstall-torch")


class Prepared(NamedTuple):
    run: Callable[[int], float]  # so many steps, then the loss: it waits for the device
    peak_gib: Callable[[], float]
    facts: dict[str, float]


def rate_of(variant: str, recipe: str) -> float:
    return SMALL_RATE if variant.startswith("ssd") or recipe == "published" else RATE


def batch_of(size: int, px: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    corner = random.random((size, BOXES, 2)) * 0.7 * px
    boxes = np.concatenate([corner, corner + (0.05 + random.random((size, BOXES, 2)) * 0.25) * px], axis=2).astype(np.float32)
    return {
        "images": random.integers(0, 256, (size, px, px, 3), np.uint8),
        "boxes": boxes,
        "classes": random.integers(0, CLASSES, (size, BOXES)).astype(np.int32),
        "mask": np.ones((size, BOXES), np.bool_),
    }


# --- Unstall ---


def detector_of(variant: str, px: int, recipe: str) -> Any:
    from unstall.detectors import create_model

    changes: dict[str, Any] = {"image_size": (px, px), "classes": CLASSES, "precision": "mixed_bfloat16"}
    if recipe == "published":
        changes |= {"trainable_backbone_layers": 3} | ({} if variant.startswith("ssd") else {"freeze_batch_norm": True})
    else:
        changes |= {"trainable_backbone_layers": 5} | ({} if variant.startswith("ssd") else {"freeze_batch_norm": False})
    return create_model(variant, **changes)


def unstall_jax(variant: str, size: int, px: int, recipe: str) -> Prepared:
    from unstall.training.step.step import LossModel
    from unstall.training.step.train_step_jax import sort_by_weights

    model = LossModel(detector_of(variant, px, recipe))

    def loss_of(trained: Any, other: Any, batch: Any) -> tuple[Any, Any]:
        losses, other = model.stateless_call(trained, other, batch, training=True)
        return sum(losses.values()), other

    return jax_trained(model, loss_of, batch_of(size, px), rate_of(variant, recipe), sort_by_weights)


def jax_trained(model: Any, loss_of: Any, batch: Any, rate: float, ordered: Any = lambda gradients: gradients) -> Prepared:
    """The whole step, compiled as one: forward, backward, and the change of the weights."""
    import jax
    import keras

    optimizer = keras.optimizers.SGD(rate, momentum=0.9)
    optimizer.build(model.trainable_variables)

    def step(trained: Any, other: Any, slots: Any, batch: Any) -> tuple[Any, Any, Any, Any]:
        (loss, other), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained, other, batch)
        trained, slots = optimizer.stateless_apply(slots, ordered(gradients), trained)
        return loss, trained, other, slots

    groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    state = [[variable.value for variable in group] for group in groups]
    return jax_prepared(jax.jit(step, donate_argnums=(0, 1, 2)), state, jax.device_put(batch))


def jax_prepared(step: Any, state: list[Any], batch: Any) -> Prepared:
    import jax

    began = time.perf_counter()
    lowered = step.lower(*state, batch)
    cost = lowered.cost_analysis() or {}  # before it is compiled: what calls a library is not counted in the result
    compiled = lowered.compile()
    compile_s = time.perf_counter() - began
    plan = compiled.memory_analysis()
    planned = plan.argument_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes + plan.temp_size_in_bytes

    def run(steps: int) -> float:
        nonlocal state
        for _ in range(steps):
            loss, *state = compiled(*state, batch)
        return float(loss)

    def peak_gib() -> float:
        return float((jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 2**30)

    own = compiled.cost_analysis() or {}  # what XLA's own kernels move; what a library moves is not in it
    facts = {
        "compile_s": compile_s, "planned_gib": planned / 2**30, "flops": float(cost.get("flops", 0.0)),
        "bytes_of_own_kernels": float(own.get("bytes accessed", 0.0)),
    }  # fmt: skip
    return Prepared(run, peak_gib, facts)


def unstall_torch(variant: str, size: int, px: int, recipe: str) -> Prepared:
    import torch

    from unstall.config.settings import Settings
    from unstall.training.step.step import Step

    settings = Settings(batch_size=size, optimizer="sgd", momentum=0.9, weight_decay=0.0, clip_norm=0.0, precision="bfloat16")
    train_step: Any = Step(detector_of(variant, px, recipe), settings, 1000).train_step
    batch = {name: torch.from_numpy(array).cuda() for name, array in batch_of(size, px).items()}
    key = torch.zeros(2, dtype=torch.int32, device="cuda")

    def step() -> Any:
        return train_step.on_device(batch, rate_of(variant, recipe), key)[:-3].sum()

    prepared = torch_prepared(torch, step)
    # What is recorded computes in memory that it keeps, and that the allocator therefore counts as given out once, not each time.
    return prepared._replace(peak_gib=lambda: torch.cuda.memory_reserved() / 2**30)


# --- the others ---


def torchvision_way(variant: str, size: int, px: int, recipe: str) -> Prepared:
    import torch
    import torchvision

    builder = getattr(torchvision.models.detection, variant)
    stages = {"trainable_backbone_layers": 3 if recipe == "published" else 5}
    more: dict[str, Any] = {} if variant.startswith("ssd") else {"min_size": px, "max_size": px}
    model = builder(weights=None, weights_backbone=None, num_classes=CLASSES + 1, **more)
    if recipe == "published":
        freeze(torch, torchvision, model, stages["trainable_backbone_layers"])
    model = model.cuda().train().to(memory_format=torch.channels_last)
    arrays = batch_of(size, px)
    images = [torch.from_numpy(image).cuda().permute(2, 0, 1).float() / 255 for image in arrays["images"]]
    targets = [
        {"boxes": torch.from_numpy(boxes).cuda(), "labels": torch.from_numpy(classes).long().cuda() + 1}
        for boxes, classes in zip(arrays["boxes"], arrays["classes"], strict=True)
    ]
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], rate_of(variant, recipe), momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = sum(model(images, targets).values())
        loss.backward()
        optimizer.step()
        return loss

    return torch_prepared(torch, step)


def freeze(torch: Any, torchvision: Any, model: Any, stages: int) -> None:
    """The published fine-tuning: norms that do not learn, and the first stages of the backbone neither."""
    body = model.backbone.body if hasattr(model.backbone, "body") else model.backbone.features
    for module in body.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval().requires_grad_(False)
            module.train = lambda mode=True, module=module: module
    names = ["layer4", "layer3", "layer2", "layer1", "conv1"][:stages]
    if hasattr(model.backbone, "body"):
        for name, parameter in body.named_parameters():
            if not any(name.startswith(kept) for kept in names):
                parameter.requires_grad_(False)


def torch_prepared(torch: Any, step: Callable[[], Any]) -> Prepared:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    began = time.perf_counter()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    compile_s = time.perf_counter() - began
    torch.cuda.reset_peak_memory_stats()  # what the search for kernels took is not the step's

    def run(steps: int) -> float:
        for _ in range(steps):
            loss = step()
        return float(loss)

    return Prepared(run, lambda: torch.cuda.max_memory_allocated() / 2**30, {"compile_s": compile_s})


def kerashub_jax(variant: str, size: int, px: int, recipe: str) -> Prepared:
    import keras
    import keras_hub

    keras.config.set_dtype_policy("mixed_bfloat16")
    encoder = keras_hub.models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 128, 256, 512],
        stackwise_num_blocks=[3, 4, 6, 3],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="bottleneck_block",
        image_shape=(px, px, 3),
    )
    backbone = keras_hub.models.RetinaNetBackbone(
        image_encoder=encoder, min_level=3, max_level=7, use_p5=variant.endswith("v2"), image_shape=(px, px, 3)
    )
    model = keras_hub.models.RetinaNetObjectDetector(backbone=backbone, num_classes=CLASSES + 1)
    model.compile()
    arrays = batch_of(size, px)
    labels = {"boxes": arrays["boxes"][..., [1, 0, 3, 2]], "labels": arrays["classes"].astype(np.float32)}

    def loss_of(trained: Any, other: Any, batch: Any) -> tuple[Any, Any]:
        x, y = batch
        predicted, other = model.stateless_call(trained, other, x, training=True)
        return model.compute_loss(x=x, y=y, y_pred=predicted, sample_weight=None, training=True), other

    return jax_trained(model, loss_of, (arrays["images"].astype(np.float32) / 255, labels), rate_of(variant, recipe))


RUN = {"torchvision": torchvision_way, "kerashub-jax": kerashub_jax, "unstall-jax": unstall_jax, "unstall-torch": unstall_torch}


# --- by turns ---


def serve(way: str, variant: str, size: int, px: int, recipe: str) -> None:
    """A line when it is prepared, then one for each turn that is asked for."""
    prepared = RUN[way](variant, size, px, recipe)
    prepared.run(WARM_UP)
    print("READY " + json.dumps(prepared.facts), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        loss = prepared.run(STEPS)
        seconds = (time.perf_counter() - began) / STEPS
        print("TURN " + json.dumps({"step_s": seconds, "loss": loss, "peak_gib": prepared.peak_gib()}), flush=True)


class Competitor:
    """A process of its own, which keeps its place on the device and does nothing while it is not its turn."""

    def __init__(self, way: str, variant: str, size: int, px: int, recipe: str) -> None:
        env = {**os.environ, "KERAS_BACKEND": "jax" if way.endswith("jax") else "torch"}
        env |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.throughput", "--serve", way, variant, str(size), str(px), recipe],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip
        self.row: dict[str, Any] = {"way": way, "variant": variant, "batch": size, "px": px, "recipe": recipe}
        self.turns: list[dict[str, float]] = []

    def wait(self) -> None:
        self.row |= self._answer("READY ") or {}

    def turn(self) -> None:
        if "failed" in self.row:
            return
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        result = self._answer("TURN ")
        if result:
            self.turns.append(result)

    def end(self) -> dict[str, Any]:
        self._process.kill()
        self._process.wait()
        if not self.turns:
            return self.row
        step_s = statistics.median(turn["step_s"] for turn in self.turns)
        plain = {
            "images_per_s": self.row["batch"] / step_s,
            "step_s": step_s,
            "step_s_of_turns": [t["step_s"] for t in self.turns],
        }
        last = self.turns[-1]
        loss = last["loss"] if math.isfinite(last["loss"]) else None  # JSON knows no NaN
        return {**self.row, **plain, "loss": loss, "peak_gib": last["peak_gib"]}

    def _answer(self, begin: str) -> dict[str, float] | None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(begin):
                answer: dict[str, float] = json.loads(line.removeprefix(begin))
                return answer
        self._errors.seek(0)
        self.row["failed"] = self._errors.read().strip()[-600:]
        return None


def prepared(case: tuple[str, str, int, int, str]) -> Competitor:
    competitor = Competitor(*case)
    competitor.wait()
    print(json.dumps(competitor.row), file=sys.stderr, flush=True)
    return competitor


def measure(cases: list[tuple[str, str, int, int, str]], at_once: int, rounds: int) -> list[dict[str, Any]]:
    """Prepared a few at a time; then, when all are, in turns, in another order each round."""
    with ThreadPoolExecutor(at_once) as pool:
        competitors = list(pool.map(prepared, cases))
    for _ in range(rounds):
        for each in random.sample(competitors, len(competitors)):
            each.turn()
    return [each.end() for each in competitors]


def show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="training steps, bfloat16")
    for name in ("recipe", "variant", "batch", "way", "images/s", "step", "peak", "planned", "of the peak", "compiling", "loss"):
        table.add_column(name, justify="left" if name in {"recipe", "variant", "way"} else "right")
    for row in sorted(rows, key=lambda row: (row["recipe"], row["variant"], row["batch"])):
        if "step_s" not in row:
            table.add_row(row["recipe"], row["variant"], str(row["batch"]), row["way"], "[red]failed[/]")
            continue
        share = f"{100 * row['flops'] / row['step_s'] / MATRIX_PEAK:.0f} %" if row.get("flops") else ""
        planned = f"{row['planned_gib']:.2f} GiB" if "planned_gib" in row else ""
        table.add_row(
            row["recipe"], row["variant"], str(row["batch"]), row["way"], f"{row['images_per_s']:.0f}",
            f"{1000 * row['step_s']:.1f} ms", f"{row['peak_gib']:.2f} GiB", planned, share, f"{row['compile_s']:.0f} s",
            "no number" if row["loss"] is None else f"{row['loss']:.3g}",
        )  # fmt: skip
    Console(width=150).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", default=",".join(CASES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--recipe", default="all,published", help="all, published or both: all,published")
    parser.add_argument("--batches", help="of images, instead of each variant's own: 16,32")
    parser.add_argument("--at-once", type=int, default=1, help="how many are prepared side by side")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/throughput.json"))
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        way, variant, size, px, recipe = arguments.serve
        serve(way, variant, int(size), int(px), recipe)
        return
    cases = [
        (way, variant, size, CASES[variant][1], recipe)
        for recipe in arguments.recipe.split(",")
        for variant in arguments.variants.split(",")
        for size in (map(int, arguments.batches.split(",")) if arguments.batches else CASES[variant][0])
        for way in arguments.ways.split(",")
        if way != "kerashub-jax" or (variant.startswith("retinanet") and recipe == "all")
    ]
    rows = measure(cases, arguments.at_once, arguments.rounds)
    show(rows)
    written.write(arguments.out, {"matrix_peak_flops": MATRIX_PEAK, "rows": rows})


if __name__ == "__main__":
    main()
