"""What torchvision gives for weights, images and boxes that NumPy draws: made once (`make_goldens.py`), compared on each backend.

Weights are drawn from torchvision's key, so a file holds outputs alone, and the factors that the output layers were scaled by to
give scores and codes like those of a trained detector.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).with_name("goldens")
KEPT = 3000  # values of a raw output; the norm is of all
CLASSES = 90
BOXES = 5  # in the first image; the second has two
EVERYTHING = 100_000  # samples: more than there are, so that both take all, and none is left to chance


@dataclass(frozen=True)
class Golden:
    variant: str
    px: tuple[int, int]
    # what the outputs are scaled to: the layer's key, the spread of what it gives
    spreads: tuple[tuple[str, float], ...]
    changes: dict[str, Any] = field(default_factory=dict)  # of our settings
    theirs: dict[str, Any] = field(default_factory=dict)  # of torchvision's

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.variant}.npz"


_DENSE = (("head.classification_head.cls_logits", 1.5), ("head.regression_head.bbox_reg", 0.3))
_REGIONS = (
    ("rpn.head.cls_logits", 1.5), ("rpn.head.bbox_pred", 0.2),
    ("roi_heads.box_predictor.cls_score", 2.0), ("roi_heads.box_predictor.bbox_pred", 0.5),
)  # fmt: skip
_ALL_SAMPLES = {"rpn_batch_size_per_image": EVERYTHING, "box_batch_size_per_image": EVERYTHING}
_OUR_SAMPLES = {"rpn_batch_size_per_image": EVERYTHING, "box_batch_size_per_image": EVERYTHING}


def _levels(suffix: str) -> tuple[tuple[str, float], ...]:
    return tuple(
        (f"head.{head}.module_list.{level}{suffix}", spread)
        for head, spread in (("classification_head", 1.5), ("regression_head", 0.5))
        for level in range(6)
    )


GOLDENS = {
    golden.variant: golden
    for golden in (
        Golden("retinanet_resnet50_fpn", (128, 160), _DENSE),
        Golden("retinanet_resnet50_fpn_v2", (128, 160), _DENSE),
        Golden("ssd300_vgg16", (300, 300), _levels("")),
        Golden("ssdlite320_mobilenet_v3_large", (320, 320), _levels(".1")),
        Golden("fasterrcnn_resnet50_fpn", (128, 160), _REGIONS, _OUR_SAMPLES, _ALL_SAMPLES),
        Golden("fasterrcnn_resnet50_fpn_v2", (128, 160), _REGIONS, _OUR_SAMPLES, _ALL_SAMPLES),
        Golden("fasterrcnn_mobilenet_v3_large_fpn", (128, 160), _REGIONS, _OUR_SAMPLES, _ALL_SAMPLES),
    )
}


def drawn(key: str, shape: tuple[int, ...]) -> np.ndarray:
    """In PyTorch's layout. As a trained network has them: signals neither die nor grow, statistics are no zeros and ones."""
    random = np.random.default_rng(zlib.crc32(key.encode()))
    if key.endswith("scale_weight"):
        return random.uniform(10, 20, shape).astype(np.float32)
    if len(shape) > 1:
        return random.normal(0.0, np.sqrt(2.0 / np.prod(shape[1:])), shape).astype(np.float32)
    if key.endswith(("running_var", "weight")):
        return random.uniform(0.4, 0.9, shape).astype(np.float32)
    return random.normal(0.0, 0.1, shape).astype(np.float32)


def images(golden: Golden) -> np.ndarray:
    """(2, height, width, 3) in 0 to 255: smooth, as noise alone looks the same everywhere."""
    random = np.random.default_rng(7)
    height, width = golden.px
    coarse = random.uniform(0, 255, (2, 10, 10, 3))
    rows, columns = (np.linspace(0, 9, side) for side in (height, width))
    top, left = np.floor(rows).astype(int).clip(0, 8), np.floor(columns).astype(int).clip(0, 8)
    down, right = (rows - top)[None, :, None, None], (columns - left)[None, None, :, None]
    upper = coarse[:, top][:, :, left] * (1 - right) + coarse[:, top][:, :, left + 1] * right
    lower = coarse[:, top + 1][:, :, left] * (1 - right) + coarse[:, top + 1][:, :, left + 1] * right
    return np.clip(upper * (1 - down) + lower * down + random.normal(0, 12, (2, height, width, 3)), 0, 255).astype(np.float32)


def targets(golden: Golden) -> dict[str, np.ndarray]:
    random = np.random.default_rng(8)
    height, width = golden.px
    corner = random.uniform(0, 0.6, (2, BOXES, 2))
    boxes = np.concatenate([corner, corner + random.uniform(0.1, 0.4, (2, BOXES, 2))], axis=2) * (width, height, width, height)
    mask = np.arange(BOXES) < np.array([[BOXES], [2]])
    return {"boxes": boxes.astype(np.float32), "classes": random.integers(0, CLASSES, (2, BOXES)).astype(np.int32), "mask": mask}


def regions(golden: Golden) -> np.ndarray:
    """(2, 12, 4) of all sizes, for the second stage."""
    random = np.random.default_rng(9)
    height, width = golden.px
    corner = random.uniform(0, 0.5, (2, 12, 2))
    boxes = np.concatenate([corner, corner + random.uniform(0.02, 0.5, (2, 12, 2))], axis=2)
    return (boxes * (width, height, width, height)).astype(np.float32)


def kept(values: np.ndarray) -> np.ndarray:
    """Some of many, evenly taken, and behind them the norm of all."""
    flat = np.asarray(values, np.float32).reshape(-1)
    some = flat[:: max(1, len(flat) // KEPT)][:KEPT]
    return np.append(some, np.linalg.norm(flat.astype(np.float64))).astype(np.float32)
