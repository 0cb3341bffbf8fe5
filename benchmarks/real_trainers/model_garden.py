"""RetinaNet of tf-models-official, trained by Orbit: `python -m official.vision.train` with TFRecord files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.real_trainers import records
from benchmarks.real_trainers.trainer import Case

CASES = (
    "healthy",
    "input_blocked",
    "input_slow",
    "learning_rate",
    "image_corrupt",
    "record_corrupt",
    "label_unknown",
    "pattern_empty",
    "killed",
)
SLOW_S = 150.0
_NUM_CLASSES = 7  # with the background


def prepare(folder: Path, fault: str, python: str) -> Case:
    data = folder / "data"
    data.mkdir()
    spoiled = records.write_shards(data, fault)
    where, pattern, rate, steps = "", data / "train-*.record", 0.005, 60
    if fault in {"input_blocked", "record_corrupt"}:
        where = spoiled.name
    elif fault == "image_corrupt":
        where = rf"{spoiled.name}|train-\*\.record|\w+\.py:\d+"
    elif fault == "pattern_empty":
        pattern, where = data / "trian-*.record", r"trian-\*\.record"
    elif fault == "learning_rate":
        rate = 1e6
    if fault in {"killed", "input_slow"}:
        steps = 5000
    options = ["--experiment=retinanet_resnetfpn_coco", "--mode=train", f"--model_dir={folder / 'out'}"]
    settings = json.dumps(_settings(str(pattern), rate, steps))
    command = [python, "-m", "official.vision.train", *options, f"--params_override={settings}"]
    return Case(command, where, seconds=SLOW_S if fault == "input_slow" else 0.0)


def _settings(pattern: str, rate: float, steps: int) -> dict[str, Any]:
    data = {"input_path": pattern, "global_batch_size": 4, "dtype": "float32", "shuffle_buffer_size": 20}
    model = {
        "num_classes": _NUM_CLASSES,
        "input_size": [128, 128, 3],
        "backbone": {"type": "mobilenet", "mobilenet": {"model_id": "MobileNetV2", "filter_size_scale": 0.35}},
        "decoder": {"type": "fpn", "fpn": {"num_filters": 32}},
        "head": {"num_convs": 1, "num_filters": 32},
    }
    optimizer = {
        "optimizer": {"type": "sgd", "sgd": {"momentum": 0.9}},
        "learning_rate": {"type": "constant", "constant": {"learning_rate": rate}},
        "warmup": {"type": "linear", "linear": {"warmup_steps": 1, "warmup_learning_rate": rate}},
    }
    return {
        "runtime": {"distribution_strategy": "one_device", "mixed_precision_dtype": "float32", "num_gpus": 0},
        "task": {
            "init_checkpoint": "",
            "annotation_file": "",
            "model": model,
            "train_data": {**data, "is_training": True},
            "validation_data": {**data, "is_training": False},
        },
        "trainer": {
            "train_steps": steps,
            "steps_per_loop": 10,
            "summary_interval": 10,
            "checkpoint_interval": 10_000,
            "validation_interval": 10_000,
            "optimizer_config": optimizer,
        },
    }
