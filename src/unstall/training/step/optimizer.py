"""One update of the weights: what gradients make of the state, as one function without side effects; and its learning rate.

The state is a flat dictionary, by the names under which it is also kept: `weights/…` and, for each of the weights that learn,
what the optimizer remembers; `average/…`; and a few numbers. An update whose loss or gradient is not finite leaves it as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from unstall.config.settings import Settings
from unstall.detectors.layers.boxes import Tensor
from unstall.training.step.ema import update_ema

State = dict[str, Any]
SLOTS = {"sgd": ("momentum",), "adamw": ("mean", "square")}
BETAS = 0.9, 0.999
EPSILON = 1e-8
# Of float16, whose gradients vanish below 6e-8: the loss is taken so many times, until something overflows.
FIRST_SCALE, MIN_SCALE, MAX_SCALE = 2.0**15, 1.0, 2.0**24
GROWS_AFTER = 2000  # updates without an overflow; then it is doubled
# In float32, which counts to 16 million and stays there, when nothing hangs on it any more: TensorFlow has whole numbers on the
# host, away from the rest of the state.
NUMBERS = {"updates": 0.0, "loss_scale": FIRST_SCALE, "updates_at_scale": 0.0}


@dataclass(frozen=True)
class Rules:
    """What of the settings an update hangs on, beside the rate."""

    optimizer: str
    momentum: float
    weight_decay: float
    clip_norm: float
    ema_decay: float
    is_scaled: bool

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        return cls(
            settings.optimizer, settings.momentum, settings.weight_decay, settings.clip_norm, settings.ema_decay,
            is_scaled=settings.precision == "float16",
        )  # fmt: skip

    def get_decay(self, weight: Any) -> float:
        """Norms and biases, and whatever has fewer than two dimensions, are spared."""
        return self.weight_decay if len(weight.shape) > 1 else 0.0


class Sizes(NamedTuple):
    """Of the gradients, before they are cut."""

    norm: Tensor
    squares: dict[str, Tensor]  # the sum of those of each


def create_state(weights: dict[str, np.ndarray], averaged: dict[str, np.ndarray], rules: Rules) -> dict[str, np.ndarray]:
    """Beside the weights themselves. `weights` are those that learn; `averaged` are these and what else changes."""
    state: dict[str, np.ndarray] = {}
    for slot in SLOTS[rules.optimizer]:
        state |= {f"{slot}/{name}": np.zeros_like(value) for name, value in weights.items()}
    if rules.ema_decay:
        state |= {f"average/{name}": value.copy() for name, value in averaged.items()}
    return state | {name: np.array(number, np.float32) for name, number in NUMBERS.items()}


def get_scale(state: State, rules: Rules) -> Tensor | float:
    return state["loss_scale"] if rules.is_scaled else 1.0


def update_state(
    state: State, gradients: dict[str, Tensor], statistics: dict[str, Tensor], loss: Tensor, rate: Tensor, rules: Rules
) -> tuple[State, Sizes, Tensor]:
    """The state after it, how large the gradients were and whether they were applied. `gradients` are of the scaled loss, by the
    names of the weights; `statistics` what norms have learned meanwhile."""
    factor = 1.0 / get_scale(state, rules)
    sums = {name: ops.sum(ops.square(gradient)) for name, gradient in gradients.items()}
    norm = ops.sqrt(sum(sums.values())) * factor
    sizes = Sizes(norm, {name: each * factor * factor for name, each in sums.items()})
    is_applied = ops.isfinite(norm) & ops.isfinite(loss)
    if rules.clip_norm:
        factor = factor * rules.clip_norm / ops.maximum(norm, rules.clip_norm)
    change = sgd if rules.optimizer == "sgd" else adamw
    after: State = {f"weights/{name}": value for name, value in statistics.items()}
    for name, gradient in gradients.items():
        after |= change(state, name, gradient * factor, rate, rules)
    if rules.ema_decay:
        after |= update_ema(state, after, rules.ema_decay)
    after["updates"] = state["updates"] + 1
    kept = {name: ops.where(is_applied, value, state[name]) for name, value in after.items()}
    return {**state, **kept, **update_loss_scale(state, is_applied, rules)}, sizes, is_applied


def sgd(state: State, name: str, gradient: Tensor, rate: Tensor, rules: Rules) -> State:
    """With momentum; decay is a part of the gradient, as in the recipes of the published detectors."""
    weight, speed = state[f"weights/{name}"], state[f"momentum/{name}"]
    if decay := rules.get_decay(weight):
        gradient = gradient + decay * weight
    speed = rules.momentum * speed + gradient
    return {f"weights/{name}": weight - rate * speed, f"momentum/{name}": speed}


def adamw(state: State, name: str, gradient: Tensor, rate: Tensor, rules: Rules) -> State:
    """Decay is apart from the gradient, and is not measured by it."""
    weight, mean, square = (state[f"{kind}/{name}"] for kind in ("weights", "mean", "square"))
    first, second = BETAS
    mean = first * mean + (1 - first) * gradient
    square = second * square + (1 - second) * gradient * gradient
    size = ops.sqrt(square / correct_bias(second, state)) + EPSILON
    if decay := rules.get_decay(weight):
        weight = weight * (1 - rate * decay)
    weight = weight - rate / correct_bias(first, state) * mean / size
    return {f"weights/{name}": weight, f"mean/{name}": mean, f"square/{name}": square}


def correct_bias(beta: float, state: State) -> Tensor:
    """Of a moving mean that began with 0: 1 - beta to the power of the updates, without the digits that a difference loses."""
    return -ops.expm1((state["updates"] + 1) * math.log(beta))


def update_loss_scale(state: State, is_applied: Tensor, rules: Rules) -> State:
    """Halved after an overflow, doubled after many updates without one."""
    if not rules.is_scaled:
        return {}
    scale, count = state["loss_scale"], state["updates_at_scale"] + 1
    grows = count >= GROWS_AFTER
    applied = ops.where(grows, ops.minimum(scale * 2, MAX_SCALE), scale)
    return {
        "loss_scale": ops.where(is_applied, applied, ops.maximum(scale / 2, MIN_SCALE)),
        "updates_at_scale": ops.where(is_applied & ~grows, count, 0.0),
    }


# The learning rate of a step, from the step's number alone: a run that goes on has the rate that it would have had.


DROP = 0.1  # of the rate, that is left after each drop of the schedule 'step'


def compute_rate(iteration: int, settings: Settings, total_steps: int) -> float:
    """Of the step with this number, the first being 0. The warm-up is a straight line whose first step is above 0."""
    if iteration < settings.warmup_steps:
        return settings.learning_rate * (iteration + 1) / settings.warmup_steps
    if settings.lr_schedule == "cosine":
        return settings.learning_rate * _cosine(iteration - settings.warmup_steps, total_steps - settings.warmup_steps)
    if settings.lr_schedule == "step":
        return settings.learning_rate * DROP ** _drops(iteration, settings, total_steps)
    return settings.learning_rate


def _cosine(done: int, length: int) -> float:
    """From 1 to 0, and 0 after that."""
    return 0.5 * (1 + math.cos(math.pi * min(done / max(length, 1), 1.0)))


def _drops(iteration: int, settings: Settings, total_steps: int) -> int:
    """How many lie behind. An epoch has as many steps as its share of all."""
    return sum(iteration * settings.epochs >= epoch * total_steps for epoch in settings.lr_milestones)
