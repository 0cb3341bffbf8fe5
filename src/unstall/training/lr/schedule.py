"""The learning rate of a step, from the step's number alone: a run that goes on has the rate that it would have had."""

from __future__ import annotations

import math

from unstall.config.settings import Settings

DROP = 0.1  # of the rate, that is left after each drop of the schedule 'step'


def rate_at(iteration: int, settings: Settings, total_steps: int) -> float:
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
