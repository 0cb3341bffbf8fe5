"""A recipe as Keras takes it: an optimizer whose rate follows the recipe's course, computed inside the compiled step."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import keras
from keras import ops

from unstall.detectors.parts.boxes import Tensor
from unstall.training.recipes import DROP, MOMENTUM, Recipe


def optimizer_of(recipe: Recipe, steps: int) -> keras.optimizers.Optimizer:
    """For a training of so many steps."""
    more: dict[str, Any] = {"weight_decay": recipe.weight_decay or None, "global_clipnorm": recipe.clip_norm or None}
    if recipe.average > 0:
        more |= {"use_ema": True, "ema_momentum": recipe.average}
    rate = Rate(recipe, steps)
    if recipe.optimizer == "sgd":
        return keras.optimizers.SGD(rate, momentum=MOMENTUM, **more)
    return keras.optimizers.AdamW(rate, **more)


@keras.saving.register_keras_serializable("unstall")
class Rate(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """`Recipe.rate_at`, of a step that is a tensor."""

    def __init__(self, recipe: Recipe, steps: int) -> None:
        super().__init__()
        self.recipe, self.steps = recipe, steps

    def __call__(self, step: Tensor) -> Tensor:
        recipe, steps = self.recipe, self.steps
        step = ops.cast(step, "float32")
        warm_up = min(recipe.warm_up_steps, steps)
        rising = recipe.rate * step / max(1, warm_up)
        return ops.where(step < warm_up, rising, self._after(step, warm_up))

    def _after(self, step: Tensor, warm_up: int) -> Tensor:
        recipe, steps = self.recipe, self.steps
        if recipe.schedule == "cosine":
            done = ops.minimum((step - warm_up) / max(1, steps - warm_up), 1.0)
            return recipe.rate * 0.5 * (1.0 + ops.cos(math.pi * done))
        rate = recipe.rate * ops.ones_like(step)
        for share in recipe.drops_at if recipe.schedule == "drops" else ():
            rate = ops.where(step >= share * steps, rate * DROP, rate)
        return rate

    def get_config(self) -> dict[str, Any]:
        return {"recipe": asdict(self.recipe), "steps": self.steps}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Rate:
        told = config["recipe"]
        return cls(Recipe(**{**told, "drops_at": tuple(told["drops_at"])}), config["steps"])
