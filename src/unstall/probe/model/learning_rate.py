"""The learning rate of an optimizer as it is now, without calling anything of the user's or running a framework's operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Optional

from unstall.probe.core.step_counter import as_number
from unstall.probe.core.user_code import is_of_keras

_NAMES = ("_learning_rate", "learning_rate", "_lr", "lr")  # the last three of Keras 2 and of TensorFlow 1


def read_current_rate(optimizer: Any, step: int, read: Callable[[Any], Any]) -> Optional[float]:
    """None where it follows a schedule that is not one of Keras's own, or cannot be read."""
    rate = find_rate(optimizer)
    if rate is None:
        return None
    value = _value(rate, step, read)
    decay = as_number(getattr(_inner(optimizer), "_initial_decay", None))  # of Keras 2, up to TensorFlow 2.10
    return value / (1.0 + decay * step) if decay and value is not None else value


def is_known(optimizer: Any) -> bool:
    """Whether it can be read at all: not where a function or a schedule of the program's own computes it."""
    rate = find_rate(optimizer)
    if rate is None:
        return False
    return hasattr(rate, "assign") or not callable(rate) or (is_of_keras(type(rate)) and type(rate).__name__ in _SCHEDULES)


def find_rate(optimizer: Any) -> Any:
    """What an optimizer holds as its learning rate: a number, a variable, a schedule or a function. None where this version
    keeps it in a place that is not known."""
    inner = _inner(optimizer)
    own = getattr(inner, "__dict__", {})
    places = [own.get("_hyper"), own]  # the first of Keras 2, up to TensorFlow 2.10
    found = (place.get(name) for place in places if isinstance(place, Mapping) for name in _NAMES)
    return next((rate for rate in found if rate is not None), None)


def find_setting(optimizer: Any, name: str) -> Any:
    """Another number that it was made with. Keras 2 gives what it keeps of one, in a trace, as a tensor without a value."""
    kept = getattr(_inner(optimizer), "__dict__", {}).get("_hyper")
    value = kept.get(name) if isinstance(kept, Mapping) else None
    return getattr(_inner(optimizer), name, None) if value is None else value


def _inner(optimizer: Any) -> Any:
    return getattr(optimizer, "inner_optimizer", None) or optimizer


def _value(rate: Any, step: int, read: Callable[[Any], Any]) -> Optional[float]:
    if hasattr(rate, "assign"):
        return as_number(read(rate))
    if not callable(rate):
        return as_number(rate)
    if not is_of_keras(type(rate)):
        return None
    formula = _SCHEDULES.get(type(rate).__name__)
    try:
        return None if formula is None else formula(rate, step)
    except (AttributeError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None  # another version's schedule


def _exponential(schedule: Any, step: int) -> float:
    passed = step / float(schedule.decay_steps)
    power = math.floor(passed) if schedule.staircase else passed
    return float(schedule.initial_learning_rate) * float(schedule.decay_rate) ** power


def _inverse_time(schedule: Any, step: int) -> float:
    passed = step / float(schedule.decay_steps)
    power = math.floor(passed) if schedule.staircase else passed
    return float(schedule.initial_learning_rate) / (1 + float(schedule.decay_rate) * power)


def _polynomial(schedule: Any, step: int) -> float:
    steps = float(schedule.decay_steps)
    if schedule.cycle:
        steps *= max(1, math.ceil(step / steps))
    left: float = (1 - min(step, steps) / steps) ** float(schedule.power)
    first, last = float(schedule.initial_learning_rate), float(schedule.end_learning_rate)
    return (first - last) * left + last


def _piecewise(schedule: Any, step: int) -> float:
    after = sum(1 for boundary in schedule.boundaries if step > float(boundary))
    return float(schedule.values[after])


def _cosine(schedule: Any, step: int) -> float:
    first = float(schedule.initial_learning_rate)
    warm = int(getattr(schedule, "warmup_steps", 0) or 0)
    target = getattr(schedule, "warmup_target", None)
    if target is not None:
        if step < warm:
            return first + (float(target) - first) * step / warm
        first, step = float(target), step - warm
    passed = min(step / float(schedule.decay_steps), 1.0)
    alpha = float(schedule.alpha)
    return first * ((1 - alpha) * 0.5 * (1 + math.cos(math.pi * passed)) + alpha)


_SCHEDULES: dict[str, Callable[[Any, int], float]] = {
    "ExponentialDecay": _exponential,
    "InverseTimeDecay": _inverse_time,
    "PolynomialDecay": _polynomial,
    "PiecewiseConstantDecay": _piecewise,
    "CosineDecay": _cosine,
}
