"""That RetinaNet ResNet-50 learns real pictures from random weights as torchvision's does, and sooner. On a GPU.

    python -m benchmarks.bccd [--data FOLDER] [--epochs 100] [--seeds 3] [--out benchmarks/results/bccd.json]

BCCD: 205 pictures of blood cells to learn from, 72 to be scored on, 640×480, made 512×384 (FOLDER is where it lies; else the
folder bccd of UNSTALL_DATA). Both learn by the same recipe: the same pictures in the same order, flipped alike; all layers learn,
norms too; AdamW, a warm-up and a cosine; bfloat16. Unstall runs on JAX, by the step of `unstall train`, seed after seed in one
process: it compiles once, and that is counted with each seed. Torchvision's pictures lie on the device, its seeds run side by
side; what one of its steps takes alone is measured before, and both times are told.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import written
from unstall.config.settings import Settings, apply_changes, as_plain

VARIANT = "retinanet_resnet50_fpn"
IMAGE_PX = (384, 512)  # 0.8 of the stored ones, so both resize alike, and without a border
MAX_BOXES = 40
RECIPE = Settings(
    model=VARIANT, optimizer="adamw", learning_rate=2e-4, batch_size=8, epochs=100, warmup_steps=200, lr_schedule="cosine",
    weight_decay=1e-4, clip_norm=10.0, precision="bfloat16",
)  # fmt: skip
WITHIN = 0.01  # of torchvision's AP50
ALONE_STEPS = 60
ADAM_EPSILON = 1e-7  # Keras's


class Part(NamedTuple):
    """Pictures on the canvas, all of one split. Boxes in its pixels."""

    images: np.ndarray
    boxes: np.ndarray
    classes: np.ndarray
    mask: np.ndarray


def part(folder: Path, split: str) -> tuple[Part, int]:
    """And how many classes there are. Boxes of no area are no objects: torchvision refuses them."""
    from dataclasses import replace

    from unstall.data.formats import read
    from unstall.data.pipeline import Pipeline, PipelineSettings

    data = read(folder, "voc")
    chosen = replace(data, examples=[each for each in data.examples if each.split == split])
    height, width = IMAGE_PX
    settings = PipelineSettings(
        batch_size=1, height_px=height, width_px=width, max_boxes_per_image=MAX_BOXES, for_training=False, num_input_workers=1
    )
    with Pipeline(chosen, settings).batches() as stream:
        columns = [(each.images.copy(), each.boxes.copy(), each.classes.copy(), each.mask.copy()) for each in stream]
    images, boxes, classes, mask = (np.concatenate(column) for column in zip(*columns, strict=True))
    mask = mask & (boxes[..., 2] > boxes[..., 0] + 1) & (boxes[..., 3] > boxes[..., 1] + 1)
    return Part(images, boxes, classes, mask), len(data.classes)


def order(seed: int, count: int, recipe: Settings) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of each batch, and which of them are flipped: the same for both. An incomplete last batch is left out."""
    rng = np.random.default_rng(seed)
    for _ in range(recipe.epochs):
        rows = rng.permutation(count)
        for begin in range(0, count - recipe.batch_size + 1, recipe.batch_size):
            yield rows[begin : begin + recipe.batch_size], rng.random(recipe.batch_size) < 0.5


def steps_of(count: int, recipe: Settings) -> int:
    return recipe.epochs * (count // recipe.batch_size)


def scored(truth: Part, found: list[tuple[np.ndarray, np.ndarray, np.ndarray]], classes: int) -> dict[str, float]:
    from unstall.training.evaluate.coco_metrics import GroundTruth, Predictions, score

    def sides(boxes: np.ndarray) -> np.ndarray:
        boxes = boxes.astype(np.float64).reshape(-1, 4)
        return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)

    truths = []
    for boxes, numbers, mask in zip(truth.boxes, truth.classes, truth.mask, strict=True):
        own = sides(boxes[mask])
        truths.append(GroundTruth(own, numbers[mask], np.zeros(len(own), np.bool_), own[:, 2] * own[:, 3]))
    answers = [Predictions(sides(boxes), numbers, scores.astype(np.float64)) for boxes, scores, numbers in found]
    figures = score(truths, answers, classes).figures()
    return {name: round(figures[name], 4) for name in ("AP", "AP50", "AP75")}


# --- Unstall ---


def unstall_jax(folder: Path, seeds: list[int], recipe: Settings, say: Callable[[dict[str, Any]], None]) -> None:
    """The product's own step, compiled for the first seed: the others begin with weights of their own in it."""
    from unstall.detectors.detector import InferenceModel
    from unstall.training.step.step import ITERATION, Program, Step

    train, classes = part(folder, "train")
    test, _ = part(folder, "test")
    began = time.monotonic()
    step = Step(fresh(seeds[0], classes), recipe, steps_of(len(train.images), recipe))
    detecting = InferenceModel(step.detector)
    before = step.arrays()
    step(next(batches_of(train, seeds[0], recipe))).read()
    compile_s = time.monotonic() - began
    for seed in seeds:
        step.restore({**Program(fresh(seed, classes), recipe).first_state(), ITERATION: before[ITERATION]})
        began = time.monotonic()
        for batch in batches_of(train, seed, recipe):
            output = step(batch)
        loss = output.read().loss
        train_s = time.monotonic() - began
        with step.get_ema_weights():
            found = detected(detecting, test, recipe.batch_size)
        say({"seed": seed, "compile_s": compile_s, "train_s": train_s, "loss": loss, **scored(test, found, classes)})


def fresh(seed: int, classes: int) -> Any:
    import keras

    from unstall.detectors import create_model

    keras.utils.set_random_seed(seed)
    return create_model(
        VARIANT,
        num_classes=classes,
        image_size=IMAGE_PX,
        trainable_backbone_layers=5,
        freeze_batch_norm=False,
        precision="mixed_bfloat16",
    )  # fmt: skip


def batches_of(train: Part, seed: int, recipe: Settings) -> Iterator[dict[str, np.ndarray]]:
    for rows, flipped in order(seed, len(train.images), recipe):
        batch = {name: column[rows] for name, column in train._asdict().items()}
        left, top, right, bottom = (batch["boxes"][..., side] for side in range(4))
        turned = np.stack([IMAGE_PX[1] - right, top, IMAGE_PX[1] - left, bottom], axis=-1)
        batch["boxes"] = np.where(flipped[:, None, None], turned, batch["boxes"])
        for place in np.flatnonzero(flipped):  # one by one: turned all at once they take as long as the step
            batch["images"][place] = batch["images"][place, :, ::-1].copy()
        yield batch


def detected(detecting: Any, test: Part, size: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    found = []
    for begin in range(0, len(test.images), size):
        outputs = detecting.predict_on_batch(test.images[begin : begin + size])
        columns = (np.asarray(outputs[name]) for name in ("boxes", "scores", "classes"))
        found += [(b[n >= 0], s[n >= 0], n[n >= 0]) for b, s, n in zip(*columns, strict=True)]
    return found


# --- torchvision ---


def torchvision_way(folder: Path, seeds: list[int], recipe: Settings, say: Callable[[dict[str, Any]], None]) -> None:
    import torch

    train, classes = part(folder, "train")
    test, _ = part(folder, "test")
    for seed in seeds:
        torch.manual_seed(seed)
        began = time.monotonic()
        model, step = torch_step(torch, train, classes, recipe)
        loss = torch.zeros(())
        for number, (rows, flipped) in enumerate(order(seed, len(train.images), recipe)):
            if number == 1:
                torch.cuda.synchronize()
                first_s, began = time.monotonic() - began, time.monotonic()
            loss = step(number, rows, flipped)
        loss = float(loss)
        train_s = time.monotonic() - began
        model.eval()
        found = []
        with torch.no_grad():  # in float32: scores of 16 bits would tie
            for image in test.images:
                (each,) = model([torch.from_numpy(image).cuda().permute(2, 0, 1).float() / 255])
                found.append(tuple(each[key].float().cpu().numpy() for key in ("boxes", "scores", "labels")))
        found = [(boxes, scores, numbers.astype(np.int32) - 1) for boxes, scores, numbers in found]
        say({"seed": seed, "compile_s": first_s, "train_s": train_s, "loss": loss, **scored(test, found, classes)})


def torch_step(torch: Any, train: Part, classes: int, recipe: Settings) -> tuple[Any, Callable[..., Any]]:
    import torchvision

    from unstall.training.step.optimizer import compute_rate

    height, width = IMAGE_PX
    model = getattr(torchvision.models.detection, VARIANT)(
        weights=None, weights_backbone=None, num_classes=classes + 1, trainable_backbone_layers=5, min_size=height, max_size=width
    )
    model = model.cuda().train().to(memory_format=torch.channels_last)
    torch.backends.cudnn.benchmark = True
    optimizer = torch.optim.AdamW(model.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay, eps=ADAM_EPSILON)
    images = torch.from_numpy(train.images).cuda().permute(0, 3, 1, 2)
    targets = [
        {"boxes": torch.from_numpy(boxes[mask]).cuda(), "labels": torch.from_numpy(numbers[mask]).long().cuda() + 1}
        for boxes, numbers, mask in zip(train.boxes, train.classes, train.mask, strict=True)
    ]
    steps = steps_of(len(train.images), recipe)

    def example(row: int, flipped: bool) -> tuple[Any, dict[str, Any]]:
        image, target = images[row].float() / 255, targets[row]
        if not flipped:
            return image, target
        left, top, right, bottom = target["boxes"].unbind(1)
        return image.flip(2), {**target, "boxes": torch.stack([width - right, top, width - left, bottom], 1)}

    def step(number: int, rows: np.ndarray, flipped: np.ndarray) -> Any:
        for group in optimizer.param_groups:
            group["lr"] = compute_rate(number, recipe, steps)
        batch = [example(row, turn) for row, turn in zip(rows.tolist(), flipped.tolist(), strict=True)]
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = sum(model([image for image, _ in batch], [target for _, target in batch]).values())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
        optimizer.step()
        return loss.detach()

    return model, step


def torchvision_alone(folder: Path, seeds: list[int], recipe: Settings, say: Callable[[dict[str, Any]], None]) -> None:
    """What a step takes when nothing else runs."""
    import torch

    train, classes = part(folder, "train")
    _, step = torch_step(torch, train, classes, recipe)
    batches = order(seeds[0], len(train.images), recipe)
    for number in range(10):
        step(number, *next(batches))
    torch.cuda.synchronize()
    began = time.monotonic()
    for number in range(10, 10 + ALONE_STEPS):
        step(number, *next(batches))
    torch.cuda.synchronize()
    say({"step_s": (time.monotonic() - began) / ALONE_STEPS})


# --- all of it ---

WAYS = {"unstall-jax": unstall_jax, "torchvision": torchvision_way, "torchvision-alone": torchvision_alone}


def said(row: dict[str, Any]) -> None:
    """For the process that waits, and for a person who does."""
    for stream in (sys.stdout, sys.stderr):
        print("ROW " + json.dumps(row), file=stream, flush=True)


class Process:
    def __init__(self, way: str, seeds: list[int], arguments: argparse.Namespace) -> None:
        command = [sys.executable, "-m", "benchmarks.bccd", "--data", str(arguments.data), "--epochs", str(arguments.epochs)]
        env = {
            **os.environ,
            "KERAS_BACKEND": "jax" if way == "unstall-jax" else "torch",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
        self._process = subprocess.Popen(
            [*command, "--one", way, ",".join(map(str, seeds))], env=env, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        self.way = way

    def rows(self) -> list[dict[str, Any]]:
        text, _ = self._process.communicate()
        if self._process.returncode:
            raise SystemExit(f"{self.way} failed with {self._process.returncode}")
        return [{"way": self.way, **json.loads(line[4:])} for line in text.splitlines() if line.startswith("ROW ")]


def summary(rows: list[dict[str, Any]], alone_step_s: float, steps: int) -> list[dict[str, Any]]:
    result = []
    for way in ("unstall-jax", "torchvision"):
        own = [row for row in rows if row["way"] == way]
        one = {
            "way": way, "AP50": round(statistics.mean(row["AP50"] for row in own), 4),
            "AP50_of_seeds": [row["AP50"] for row in own], "AP": round(statistics.mean(row["AP"] for row in own), 4),
            "to_it_s": round(statistics.mean(row["compile_s"] + row["train_s"] for row in own), 1),
            "compile_s": round(statistics.mean(row["compile_s"] for row in own), 1),
        }  # fmt: skip
        if way == "torchvision":
            one["to_it_alone_s"] = round(one["compile_s"] + steps * alone_step_s, 1)
        result.append(one)
    return result


def show(rows: list[dict[str, Any]], recipe: Settings) -> None:
    from rich.console import Console
    from rich.table import Table

    ours, theirs = rows
    table = Table(title=f"BCCD, {VARIANT} from random weights, {recipe.epochs} epochs, 72 pictures scored")
    for name in ("way", "AP50", "of each seed", "AP", "to it", "of that compiling", "alone"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for row in rows:
        near = row is theirs or ours["AP50"] >= theirs["AP50"] - WITHIN
        alone = row.get("to_it_alone_s", row["to_it_s"])
        table.add_row(
            row["way"], f"[{'green' if near else 'red'}]{row['AP50']:.3f}[/]",
            " ".join(f"{each:.3f}" for each in row["AP50_of_seeds"]), f"{row['AP']:.3f}", f"{row['to_it_s']:.0f} s",
            f"{row['compile_s']:.0f} s", f"{alone:.0f} s",
        )  # fmt: skip
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("UNSTALL_DATA", ".")) / "bccd")
    parser.add_argument("--epochs", type=int, default=RECIPE.epochs)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bccd.json"))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    recipe = apply_changes(RECIPE, {"epochs": arguments.epochs})
    if arguments.one:
        way, seeds = arguments.one
        WAYS[way](
            arguments.data, [int(seed) for seed in seeds.split(",")], recipe, said
        )  # fmt: skip
        return
    seeds = list(range(arguments.seeds))
    (alone,) = Process("torchvision-alone", seeds[:1], arguments).rows()
    rows = Process("unstall-jax", seeds, arguments).rows()
    for process in [Process("torchvision", [seed], arguments) for seed in seeds]:
        rows += process.rows()
    count = len(part(arguments.data, "train")[0].images)
    output = summary(rows, alone["step_s"], steps_of(count, recipe))
    show(output, recipe)
    written.write(arguments.out, {"recipe": as_plain(recipe), "alone": alone, "summary": output, "rows": rows})


if __name__ == "__main__":
    main()
