"""Training steps on a GPU: Unstall on JAX and on PyTorch, torchvision, and KerasHub where it has the detector.

    python -m benchmarks.throughput [--variants a,b] [--ways …] [--recipe all|published] [--out FILE]

Everything in bfloat16, on random batches that lie on the device already, each way in a process of its own, one after the other
and each twice. `all`: every layer learns, norms included. `published`: frozen norms, three stages of the backbone learn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 90
BOXES = 8
ROUNDS = 2
STEPS = 20
# variant: (batch sizes, pixels)
CASES: dict[str, tuple[tuple[int, ...], int]] = {
    "retinanet_resnet50_fpn": ((16, 32), 640),
    "retinanet_resnet50_fpn_v2": ((16, 32), 640),
    "ssd300_vgg16": ((32, 128), 300),
    "fasterrcnn_resnet50_fpn_v2": ((16,), 640),
}
WAYS = ("torchvision", "kerashub-jax", "unstall-jax", "unstall-torch")


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
    from unstall.detectors import build

    changes: dict[str, Any] = {"image_px": (px, px), "classes": CLASSES, "precision": "mixed_bfloat16"}
    if recipe == "published":
        changes |= {"trainable_stages": 3} | ({} if variant.startswith("ssd") else {"frozen_norms": True})
    else:
        changes |= {"trainable_stages": 5} | ({} if variant.startswith("ssd") else {"frozen_norms": False})
    return build(variant, **changes)


def unstall_jax(variant: str, size: int, px: int, recipe: str) -> dict[str, Any]:
    from unstall.training.fitting import Fitting

    fitting = Fitting(detector_of(variant, px, recipe))

    def loss_of(trained: Any, other: Any, batch: Any) -> tuple[Any, Any]:
        losses, other = fitting.stateless_call(trained, other, batch, training=True)
        return sum(losses.values()), other

    return jax_trained(fitting, loss_of, batch_of(size, px))


def jax_trained(model: Any, loss_of: Any, batch: Any) -> dict[str, Any]:
    """Times the whole step, compiled as one: forward, backward, and the change of the weights."""
    import jax
    import keras

    optimizer = keras.optimizers.SGD(0.001, momentum=0.9)
    optimizer.build(model.trainable_variables)

    def step(trained: Any, other: Any, slots: Any, batch: Any) -> tuple[Any, Any, Any, Any]:
        (loss, other), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained, other, batch)
        trained, slots = optimizer.stateless_apply(slots, gradients, trained)
        return loss, trained, other, slots

    groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    state = [[variable.value for variable in group] for group in groups]
    return jax_timed(jax.jit(step, donate_argnums=(0, 1, 2)), state, jax.device_put(batch))


def jax_timed(step: Any, state: list[Any], batch: Any) -> dict[str, Any]:
    import jax

    began = time.perf_counter()
    compiled = step.lower(*state, batch).compile()
    compile_s = time.perf_counter() - began
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    for _ in range(3):
        loss, *state = compiled(*state, batch)
    loss.block_until_ready()
    began = time.perf_counter()
    for _ in range(STEPS):
        loss, *state = compiled(*state, batch)
    loss.block_until_ready()
    seconds = (time.perf_counter() - began) / STEPS
    plan = compiled.memory_analysis()
    planned = plan.argument_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes + plan.temp_size_in_bytes
    peak = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    if folder := os.environ.get("UNSTALL_TRACE"):
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            for _ in range(3):
                loss, *state = compiled(*state, batch)
            loss.block_until_ready()
    return {
        "step_s": seconds, "compile_s": compile_s, "loss": float(loss), "planned_gib": planned / 2**30, "peak_gib": peak / 2**30,
        "flops": float(cost.get("flops", 0.0)), "bytes": float(cost.get("bytes accessed", 0.0)),
    }  # fmt: skip


def unstall_torch(variant: str, size: int, px: int, recipe: str) -> dict[str, Any]:
    import keras
    import torch

    from unstall.training.fitting import Fitting

    fitting = Fitting(detector_of(variant, px, recipe))
    parameters = [v.value for v in fitting.trainable_variables]
    optimizer = torch.optim.SGD(parameters, 0.001, momentum=0.9)
    batch = {key: keras.ops.convert_to_tensor(value) for key, value in batch_of(size, px).items()}

    def step() -> Any:
        optimizer.zero_grad()
        loss = sum(fitting(batch, training=True).values())
        loss.backward()
        optimizer.step()
        return loss

    return torch_timed(torch, step)


# --- the others ---


def torchvision_way(variant: str, size: int, px: int, recipe: str) -> dict[str, Any]:
    import torch
    import torchvision

    build = getattr(torchvision.models.detection, variant)
    stages = {"trainable_backbone_layers": 3 if recipe == "published" else 5}
    more: dict[str, Any] = {} if variant.startswith("ssd") else {"min_size": px, "max_size": px}
    model = build(weights=None, weights_backbone=None, num_classes=CLASSES + 1, **more)
    if recipe == "published":
        freeze(torch, torchvision, model, stages["trainable_backbone_layers"])
    model = model.cuda().train().to(memory_format=torch.channels_last)
    arrays = batch_of(size, px)
    images = [torch.from_numpy(image).cuda().permute(2, 0, 1).float() / 255 for image in arrays["images"]]
    targets = [
        {"boxes": torch.from_numpy(boxes).cuda(), "labels": torch.from_numpy(classes).long().cuda() + 1}
        for boxes, classes in zip(arrays["boxes"], arrays["classes"], strict=True)
    ]
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.001, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = sum(model(images, targets).values())
        loss.backward()
        optimizer.step()
        return loss

    return torch_timed(torch, step)


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


def torch_timed(torch: Any, step: Any) -> dict[str, Any]:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    began = time.perf_counter()
    for _ in range(5):
        loss = step()
    torch.cuda.synchronize()
    compile_s = time.perf_counter() - began
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    for _ in range(STEPS):
        loss = step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / STEPS
    return {"step_s": seconds, "compile_s": compile_s, "loss": float(loss), "peak_gib": torch.cuda.max_memory_allocated() / 2**30}


def kerashub_jax(variant: str, size: int, px: int, recipe: str) -> dict[str, Any]:
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

    return jax_trained(model, loss_of, (arrays["images"].astype(np.float32) / 255, labels))


RUN = {"torchvision": torchvision_way, "kerashub-jax": kerashub_jax, "unstall-jax": unstall_jax, "unstall-torch": unstall_torch}


def in_own_process(way: str, variant: str, size: int, px: int, recipe: str) -> dict[str, Any]:
    backend = "jax" if way.endswith("jax") else "torch"
    env = {**os.environ, "KERAS_BACKEND": backend, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "benchmarks.throughput", "--one", way, variant, str(size), str(px), recipe]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("ROW ")), None)
    row = {"way": way, "variant": variant, "batch": size, "px": px, "recipe": recipe}
    if line is None:
        return {**row, "failed": done.stderr.strip()[-600:]}
    told = json.loads(line[4:])
    return {**row, "images_per_s": size / told["step_s"], **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", default=",".join(CASES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--recipe", default="all", choices=("all", "published"))
    parser.add_argument("--batches", help="of images, instead of each variant's own: 16,32")
    parser.add_argument("--out", default="benchmarks/results/throughput.json")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    wishes = parser.parse_args()
    if wishes.one:
        way, variant, size, px, recipe = wishes.one
        print("ROW " + json.dumps(RUN[way](variant, int(size), int(px), recipe)), flush=True)
        return
    rows = []
    for variant in wishes.variants.split(","):
        sizes, px = CASES[variant]
        for size in map(int, wishes.batches.split(",")) if wishes.batches else sizes:
            for _ in range(ROUNDS):
                for way in wishes.ways.split(","):
                    if way != "kerashub-jax" or variant.startswith("retinanet"):
                        rows.append(in_own_process(way, variant, size, px, wishes.recipe))
                        print(json.dumps(rows[-1]), flush=True)
    Path(wishes.out).write_text(
        json.dumps({"command": " ".join(["python -m benchmarks.throughput", *sys.argv[1:]]), "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
