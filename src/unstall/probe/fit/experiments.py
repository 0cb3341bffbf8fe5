"""Experiments on a training, made in a run of the program for this alone: never in a run that is the user's own.

`unstall confirm` starts the program again with the names of the experiments in UNSTALL_EXPERIMENTS. When its first `fit` is about
to begin, they are made on a few of its batches instead of the training, their numbers are written, and the process ends:
nothing after `fit` is run, nothing is saved.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any, Optional

from unstall.base.errors import attempt
from unstall.journal.events import ExperimentEnded
from unstall.probe.core.probe import Probe

BATCHES = 4
STEPS = 60
LONGEST_S = 25.0  # of each experiment
VARIABLE = "UNSTALL_EXPERIMENTS"


class NotPossible(Exception):
    """Says why an experiment cannot be made on this program."""


def install(probe: Probe) -> None:
    """Takes the place of the training, if experiments were asked for."""
    names = [name for name in os.environ.get(VARIABLE, "").split(",") if name]
    if names:
        probe.extras["train_input"] = None  # asks for the input to be kept
        probe.on_fit.append(lambda model: _instead_of_training(probe, model, names))


def _instead_of_training(probe: Probe, model: Any, names: list[str]) -> None:
    subject, why = _tried(lambda: Subject(model, probe.extras.get("train_input")))
    for name in names:
        began = time.monotonic()
        facts, failed = _tried(functools.partial(_one, name, subject)) if subject is not None else (None, why)
        seconds = time.monotonic() - began
        probe.emit(ExperimentEnded(at=time.time(), experiment=name, seconds=seconds, facts=facts or {}, failed=failed))
    probe.writer.close()
    os._exit(0)


def _tried(make: Callable[[], Any]) -> tuple[Any, str]:
    """What it gives, or None and why it could not be had."""

    def why(error: Exception) -> tuple[Any, str]:
        return None, str(error) if isinstance(error, NotPossible) else f"{type(error).__name__}: {error}"

    return attempt(lambda: (make(), ""), why)


def _one(name: str, subject: Subject) -> dict[str, Any]:
    subject.restore()
    return EXPERIMENTS[name](subject)


class Subject:
    """The model as it stands before its first step, and a few batches."""

    def __init__(self, model: Any, source: Any) -> None:
        if model is None or source is None or not hasattr(model, "train_on_batch"):
            raise NotPossible("experiments need a Keras fit; one's own loop cannot be replayed")
        self.model = model
        began = time.monotonic()
        self.batches = _some_batches(source)
        self.batch_s = (time.monotonic() - began) / max(1, len(self.batches))
        if not self.batches:
            raise NotPossible("the input gave no batch")
        if not getattr(model, "built", True) or not model.weights:
            model(_unpack(self.batches[0])[0])  # a model that is built by its first batch
        build = getattr(model.optimizer, "build", None)
        if build is not None and not getattr(model.optimizer, "built", False):
            build(model.trainable_variables)
        self._weights = model.get_weights()
        self._optimizer = [_value(variable) for variable in _optimizer_variables(model)]

    def restore(self) -> None:
        self.model.set_weights(self._weights)
        for variable, value in zip(_optimizer_variables(self.model), self._optimizer):  # noqa: B905 - Python 3.7
            variable.assign(value)

    def train(self, batches: list[Any], steps: int = STEPS, change: Optional[Callable[[Any], Any]] = None) -> list[float]:
        """The loss of each step, over the batches in turn."""
        losses: list[float] = []
        until = time.monotonic() + LONGEST_S
        for step in range(steps):
            x, y, weight = _unpack(batches[step % len(batches)])
            if change is not None:
                x = change(x)
            self.model.reset_metrics()
            result = self.model.train_on_batch(x, y, weight, return_dict=True)
            losses.append(float(result["loss"]))
            if time.monotonic() > until:
                break
        return losses


def _some_batches(source: Any) -> list[Any]:
    adapter = getattr(source, "data_adapter", None)
    iterator = iter(adapter.get_numpy_iterator()) if adapter is not None else iter(source._dataset)
    batches = []
    for batch in iterator:
        batches.append(batch)
        if len(batches) >= BATCHES:
            break
    return batches


def _unpack(batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(batch, (tuple, list)):
        return batch, None, None
    parts = [*batch, None, None]
    return parts[0], parts[1], parts[2]


def _optimizer_variables(model: Any) -> list[Any]:
    variables = getattr(model.optimizer, "variables", [])
    return list(variables() if callable(variables) else variables)


def _value(variable: Any) -> Any:
    from_tensor = getattr(variable, "numpy", None)
    return (
        from_tensor().copy()
        if from_tensor is not None and hasattr(from_tensor(), "copy")
        else from_tensor()
        if from_tensor
        else variable
    )


# --- the experiments: each gives numbers, and judges nothing ---


def replay_batch(subject: Subject) -> dict[str, Any]:
    """The same batch again and again, with no input to wait for: how long does a step take then?"""
    subject.train(subject.batches[:1], steps=3)  # compiled by now
    began = time.monotonic()
    losses = subject.train(subject.batches[:1], steps=30)
    return {"step_s": (time.monotonic() - began) / len(losses), "batch_s": subject.batch_s, "steps": len(losses)}


def overfit_batch(subject: Subject) -> dict[str, Any]:
    """One batch learned by heart: does the loss fall at all?"""
    losses = subject.train(subject.batches[:1], steps=2 * STEPS)
    return {"first_loss": losses[0], "last_loss": losses[-1], "min_loss": min(losses), "steps": len(losses)}


def try_zero_input(subject: Subject) -> dict[str, Any]:
    """The same steps with the input and with zeros for it: does the input matter?"""
    real = subject.train(subject.batches)
    subject.restore()
    zero = subject.train(subject.batches, change=_zeroed)
    return {"first_loss": real[0], "loss_with_input": _tail(real), "loss_with_zeros": _tail(zero), "steps": len(real)}


def _zeroed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _zeroed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_zeroed(item) for item in value)
    return value * 0


def try_scaled_input(subject: Subject) -> dict[str, Any]:
    """The same steps with the input as it is, and brought to a size of about 1: does its size matter?"""
    real = subject.train(subject.batches)
    subject.restore()
    scaled = subject.train(subject.batches, change=_scaled)
    return {"first_loss": real[0], "loss_with_input": _tail(real), "loss_with_scaled": _tail(scaled), "steps": len(real)}


def _scaled(value: Any) -> Any:
    """Each column (or channel) less its mean, by its own deviation; numbers that stand for words are left alone."""
    import sys

    numpy = sys.modules["numpy"]
    if isinstance(value, dict):
        return {key: _scaled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_scaled(item) for item in value)
    array = numpy.asarray(value).astype("float32")
    others = tuple(range(array.ndim - 1)) or None
    return (array - array.mean(axis=others)) / (array.std(axis=others) + 1e-6)


def find_missing_gradients(subject: Subject) -> dict[str, Any]:
    """A few steps: which trainable weights have not changed at all?"""
    import sys

    numpy = sys.modules["numpy"]
    before = {index: numpy.array(_value(variable)) for index, variable in enumerate(subject.model.trainable_variables)}
    subject.train(subject.batches, steps=3)
    after = enumerate(subject.model.trainable_variables)
    unchanged = [_name(variable) for index, variable in after if numpy.array_equal(before[index], numpy.array(_value(variable)))]
    return {"unchanged": unchanged[:50], "unchanged_count": len(unchanged), "trainable": len(before)}


def _name(variable: Any) -> str:
    return str(getattr(variable, "path", None) or getattr(variable, "name", "?"))


def try_learning_rates(subject: Subject) -> dict[str, Any]:
    """The same start and the same batches, with the rate, a tenth of it and ten times it."""
    optimizer = subject.model.optimizer
    rate = getattr(optimizer, "_learning_rate", None)
    if rate is None or (callable(rate) and not hasattr(rate, "assign")):
        raise NotPossible("the learning rate follows a schedule and cannot be set")
    own = float(_value(optimizer.learning_rate))
    losses: dict[str, Any] = {"rate": own}
    for name, factor in (("tenth", 0.1), ("same", 1.0), ("tenfold", 10.0)):
        subject.restore()
        optimizer.learning_rate = own * factor
        step_losses = subject.train(subject.batches)
        losses[name] = _tail(step_losses)
        losses["first_loss"] = step_losses[0]
    optimizer.learning_rate = own
    return losses


def _tail(losses: list[float]) -> float:
    """The mean over the last passes through the batches; NaN stays NaN."""
    last = losses[-2 * BATCHES :]
    return sum(last) / len(last)


EXPERIMENTS: dict[str, Callable[[Subject], dict[str, Any]]] = {
    "replay_batch": replay_batch,
    "overfit_batch": overfit_batch,
    "zero_input": try_zero_input,
    "scaled_input": try_scaled_input,
    "missing_gradients": find_missing_gradients,
    "learning_rate": try_learning_rates,
}
