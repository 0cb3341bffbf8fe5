"""Weights and batches that are the same on every backend: drawn by NumPy, the weights from the name of their layer."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

BOXES = 6  # places for boxes in an image


def variables_of(model: Any) -> dict[str, Any]:
    """By the name of the layer and their own."""
    from unstall.detectors.layers.conv_norm import list_leaf_layers

    return {
        f"{layer.name}/{variable.name}": variable
        for layer in list_leaf_layers(model)
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables)
    }


def set_weights(model: Any) -> None:
    for name, variable in variables_of(model).items():
        if variable.dtype.startswith("float"):  # not the state of a generator
            variable.assign(drawn(name, tuple(variable.shape)))


def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """As a trained network has them: signals neither die nor grow, statistics are no zeros and ones."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    kind = name.rpartition("/")[2]
    if kind == "kernel" or kind.endswith("_kernel"):
        inputs = np.prod(shape[:2] if shape[-1] == 1 else shape[:-1])
        return random.normal(0.0, np.sqrt(2.0 / inputs), shape).astype(np.float32)
    if kind in ("gamma", "moving_variance"):
        return random.uniform(0.4, 0.9, shape).astype(np.float32)
    return random.normal(0.0, 0.1, shape).astype(np.float32)


def batch(image_size: tuple[int, int], classes: int, counts: tuple[int, ...] = (3, 0), seed: int = 0) -> dict[str, np.ndarray]:
    """One image for each count, with so many boxes. What stands in the places without a box must not matter: it is nonsense."""
    random = np.random.default_rng(seed)
    height, width = image_size
    size = (len(counts), BOXES)
    corner = random.uniform(0.0, 0.6, (*size, 2))
    side = random.uniform(0.15, 0.4, (*size, 2))
    boxes = np.concatenate([corner, corner + side], axis=-1) * (width, height, width, height)
    mask = np.arange(BOXES) < np.array(counts)[:, None]
    return {
        "images": random.integers(0, 256, (len(counts), height, width, 3), np.uint8),
        "boxes": np.where(mask[..., None], boxes, 0).astype(np.float32),
        "classes": np.where(mask, random.integers(0, classes, size), -1).astype(np.int32),
        "mask": mask,
    }
