"""A weights file of the smallest detector, made without a framework: its numbers are drawn, so that it finds much and nothing right."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unstall.detectors.weights import compatibility
from unstall.detectors.weights.description import Description
from unstall.detectors.weights.formats import safetensors_files

VARIANT = "retinanet_tiny"
NAMES = ("circle", "square", "triangle", "star", "cross", "ring")
IMAGE_PX = (96, 96)


def tiny_weights(path: Path, variant: str = VARIANT, **changes: object) -> Path:
    random = np.random.default_rng(0)
    arrays = {}
    for key, shape in compatibility.list_known_variants()[variant].shapes.items():
        last = key.rpartition(".")[2]
        if len(shape) > 1:
            arrays[key] = random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape).astype(np.float32)
        elif last in ("running_var", "weight"):
            arrays[key] = random.uniform(0.5, 1.0, shape).astype(np.float32)
        else:
            arrays[key] = random.normal(0, 0.1, shape).astype(np.float32)
    settings = {"image_size": IMAGE_PX, "pre_nms_top_k": 100, **changes}
    safetensors_files.write(path, arrays, Description(variant, settings=settings, class_names=NAMES).as_metadata())
    return path
