"""How each variant is trained where nobody says otherwise: optimizer, rate and its course, as plain data.

The published ones follow torchvision's, their rates brought to the batch of one card in proportion. The tiny ones were found by
trial on the embedded shapes: `python -m benchmarks.learning` holds them to AP50 of 0.90 within ten minutes of two cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError

Optimizer = Literal["adamw", "sgd"]
Schedule = Literal["cosine", "step", "constant"]


@dataclass(frozen=True)
class Recipe:
    optimizer: Optimizer = "adamw"
    learning_rate: float = 2e-3  # after the warm-up
    batch_size: int = 8
    epochs: int = 26
    warmup_steps: int = 100  # the rate rises from 0 in so many
    lr_schedule: Schedule = "cosine"  # then falls to 0, in drops, or stays
    drops_at: tuple[float, ...] = ()  # shares of the training at which the rate drops
    weight_decay: float = 1e-4
    clip_norm: float = 10.0  # of all gradients together; 0: they are taken as they are
    ema_decay: float = 0.0  # weights are averaged over about 1 / (1 - ema_decay) steps; 0: they are not


_TWICE = (16 / 26, 22 / 26)
RECIPES: dict[str, Recipe] = {
    "retinanet_resnet50_fpn": Recipe("sgd", 5e-3, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "retinanet_resnet50_fpn_v2": Recipe("adamw", 5e-5, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE, weight_decay=0.05),
    "retinanet_tiny": Recipe(learning_rate=3e-3, epochs=4),
    "ssd300_vgg16": Recipe(
        "sgd", 2e-3, batch_size=32, epochs=120, warmup_steps=1000, lr_schedule="step", drops_at=(80 / 120, 110 / 120),
        weight_decay=5e-4,
    ),
    "ssdlite320_mobilenet_v3_large": Recipe("sgd", 0.025, batch_size=32, epochs=660, warmup_steps=1000, weight_decay=4e-5),
    "ssd_tiny": Recipe(learning_rate=3e-3, epochs=4),
    "fasterrcnn_resnet50_fpn": Recipe("sgd", 0.01, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "fasterrcnn_resnet50_fpn_v2": Recipe(
        "sgd", 0.0125, epochs=400, warmup_steps=1000, lr_schedule="step", drops_at=(352 / 400, 384 / 400), weight_decay=4e-5
    ),
    "fasterrcnn_mobilenet_v3_large_fpn": Recipe("sgd", 0.01, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "faster_rcnn_tiny": Recipe(epochs=4),
}  # fmt: skip


def recipe_of(variant: str) -> Recipe:
    if variant not in RECIPES:
        raise InvalidInputError(f"There is no recipe for '{variant}'. Expected one of: {', '.join(RECIPES)}.")
    return RECIPES[variant]
