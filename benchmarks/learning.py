"""That the tiny detectors learn: trained on embedded shapes, scored on others that they have never seen.

    python -m benchmarks.learning [--variant retinanet_tiny] [--backend jax] [--out benchmarks/results/learning.json]

One process for each backend, on two cores. The time is that of drawing no picture: of the whole training, compilation included.
Scored by pycocotools: AP50 is the mean over the classes of the average precision at an IoU of 0.5.
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
from typing import Any

import numpy as np

from benchmarks import written
from unstall.config.settings import Settings, as_plain

BACKENDS = ("tensorflow", "jax", "torch")
NEEDED_AP50 = 0.90
MAX_S = 600.0  # of a training
MAX_COMPILE_S = 20.0
HELD_OUT = 300  # pictures
CACHE_BYTES = 2**30
HELD_OUT_SEED = 1_000_003
SEED = 0


def shapes(count: int, seed: int, image_size: tuple[int, int], folder: Path) -> Any:
    from unstall.data.synthetic.shapes import Shapes, as_data_set, create_draft

    folder.mkdir()
    height, width = image_size
    return as_data_set(create_draft(Shapes(count, width, height, seed), folder, {}), folder, "coco")


def pipeline(data: Any, batch_size: int, detector: Any, for_training: bool) -> Any:
    from unstall.data.augment.augmentations import HorizontalFlip
    from unstall.data.pipeline import Pipeline, PipelineSettings

    height, width = detector.settings.image_size
    return Pipeline(
        data,
        PipelineSettings(
            batch_size=batch_size, height_px=height, width_px=width, resize=detector.resize, max_boxes_per_image=10,
            for_training=for_training, augmentations=(HorizontalFlip(),) if for_training else (), cache_bytes=CACHE_BYTES,
            seed=SEED, num_input_workers=1,
        ),
    )  # fmt: skip


def learn(variant: str) -> dict[str, Any]:
    """One training and its score, on the backend of this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    import keras

    from unstall.config.sources import resolve
    from unstall.detectors import create_model
    from unstall.training.step.step import Step

    settings = resolve({"model": variant}).settings
    keras.utils.set_random_seed(SEED)
    detector = create_model(variant)
    image_size = detector.settings.image_size
    with tempfile.TemporaryDirectory() as folder:
        train = shapes(settings.synthetic_images, SEED, image_size, Path(folder) / "train")
        held_out = shapes(HELD_OUT, HELD_OUT_SEED, image_size, Path(folder) / "held out")
        batches = pipeline(train, settings.batch_size, detector, for_training=True)
        step = Step(detector, settings, settings.epochs * batches.steps_per_epoch)
        trained = _train(step, batches, settings)
        began = time.monotonic()
        with step.get_ema_weights():
            found = _found(detector, pipeline(held_out, settings.batch_size, detector, for_training=False))
        scored = _scores(held_out, found)
    plain = {"variant": variant, "backend": keras.backend.backend(), "settings": as_plain(settings)}
    return {**plain, **trained, **scored, "detect_s": round(time.monotonic() - began, 1)}


def _train(step: Any, batches: Any, settings: Settings) -> dict[str, Any]:
    """By the step of `unstall train`, with the settings that it takes where nobody says otherwise."""

    ends: list[float] = []
    losses: list[float] = []
    began, processor_began = time.monotonic(), time.process_time()
    with batches.batches(epochs=settings.epochs) as stream:
        for batch in stream:
            losses.append(step(batch.inputs()).read().loss)
            ends.append(time.monotonic())
            if len(ends) % batches.steps_per_epoch == 0:
                print(f"  epoch {batch.epoch + 1}: loss {_mean(losses, batches):.4f}", file=sys.stderr, flush=True)
    step_s = float(np.median(np.diff(ends)))
    return {
        "train_s": round(ends[-1] - began, 1),
        "processor_s": round(time.process_time() - processor_began, 1),
        "compile_s": round(ends[0] - began - step_s, 1),
        "step_ms": round(1000 * step_s, 1),
        "steps": len(ends),
        "parameters": sum(int(np.prod(variable.shape)) for variable in step.detector.variables),
        "last_loss": round(_mean(losses, batches), 4),
    }


def _mean(losses: list[float], batches: Any) -> float:
    """Of the newest epoch."""
    return float(np.mean(losses[-batches.steps_per_epoch :]))


def _found(detector: Any, batches: Any) -> list[dict[str, Any]]:
    """In COCO's form, boxes in the pixels of the stored picture. Keras compiles the search as it does a prediction."""
    import keras

    class Finder(keras.Model):  # type: ignore[misc]
        def call(self, images: Any) -> dict[str, Any]:
            return dict(detector.compute_detections(images)._asdict())

    finder = Finder()
    results = []
    with batches.batches() as stream:
        for batch in stream:
            found = finder.predict_on_batch(batch.images)
            for place, row in enumerate(batch.rows):
                used = found["classes"][place] >= 0
                boxes = batch.boxes_of_image(place, found["boxes"][place][used])
                for box, score, number in zip(boxes, found["scores"][place][used], found["classes"][place][used], strict=True):
                    if row >= 0:
                        left, top, right, bottom = (float(side) for side in box)
                        results.append(
                            {"image_id": int(row), "category_id": int(number), "bbox": [left, top, right - left, bottom - top],
                             "score": float(score)}
                        )  # fmt: skip
    return results


def _scores(data: Any, found: list[dict[str, Any]]) -> dict[str, float]:
    import contextlib
    import io

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    annotations = [
        {"image_id": row, "category_id": int(number), "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]], "iscrowd": 0,
         "area": float((box[2] - box[0]) * (box[3] - box[1]))}
        for row, example in enumerate(data.examples)
        for box, number in zip(example.boxes.tolist(), example.classes, strict=True)
    ]  # fmt: skip
    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [{"id": row, "width": example.width, "height": example.height} for row, example in enumerate(data.examples)],
        "categories": [{"id": number, "name": name} for number, name in enumerate(data.classes)],
        "annotations": [{"id": number, **each} for number, each in enumerate(annotations, 1)],
    }
    if not found:
        return {"AP": 0.0, "AP50": 0.0}
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        judged = COCOeval(truth, truth.loadRes(found), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return {"AP": round(float(judged.stats[0]), 4), "AP50": round(float(judged.stats[1]), 4)}


# --- all of it ---


def in_a_process(variant: str, backend: str) -> dict[str, Any]:
    # PASSIVE: on a machine that others use too, threads that wait for each other must not take its time.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": backend, "OMP_WAIT_POLICY": "PASSIVE"}
    quiet["OMP_NUM_THREADS"] = "2"
    command = [sys.executable, "-m", "benchmarks.learning", "--here", "--variant", variant]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **quiet})
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def judged(row: dict[str, Any]) -> str:
    enough = row["AP50"] >= NEEDED_AP50 and row["train_s"] <= MAX_S and row["compile_s"] <= MAX_COMPILE_S
    return "yes" if enough else "NO"


def show(rows: list[dict[str, Any]]) -> None:
    print(f"AP50 of {NEEDED_AP50:.2f} is needed in {MAX_S / 60:.0f} minutes, compiled in {MAX_COMPILE_S:.0f} s.\n")
    print("| variant | backend | AP50 | AP | training | of the processor | compiling | step | enough |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['variant']} | {row['backend']} | {row['AP50']:.3f} | {row['AP']:.3f} | {row['train_s']:.0f} s "
            f"| {row['processor_s']:.0f} s | {row['compile_s']:.1f} s | {row['step_ms']:.0f} ms | {judged(row)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", action="append", help="may be given several times; all tiny ones if it is not given")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="may be given several times; all if it is not given")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/learning.json"))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        (variant,) = arguments.variant
        print(json.dumps(learn(variant)))
        return
    from unstall.config.detectors import list_variants

    rows: list[dict[str, Any]] = []
    for variant in arguments.variant or [name for name in list_variants() if name.endswith("_tiny")]:
        for backend in arguments.backend or BACKENDS:
            print(f"{variant} on {backend}", file=sys.stderr, flush=True)
            rows.append(in_a_process(variant, backend))
    show(rows)
    earlier = written.kept(arguments.out)
    new = {(row["variant"], row["backend"]) for row in rows}
    rows = [row for row in earlier.get("rows", []) if (row["variant"], row["backend"]) not in new] + rows
    written.write(arguments.out, {"load_average": os.getloadavg(), "rows": rows}, earlier)


if __name__ == "__main__":
    main()
