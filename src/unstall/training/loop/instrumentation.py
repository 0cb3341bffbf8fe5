"""What the trainer tells the journal of its run: events, steps, phases. Where no probe is on, nothing is told.

The watching half then sees this loop as it sees Keras's `fit`: the pulse, the steps with their waits and losses, the phases.
Nothing of it may disturb the training, so that everything goes through the probe's shield.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from unstall.journal.events import BatchesCounted, DataMeasured, Event
from unstall.journal.events.record import OF_TRAINER
from unstall.probe.core import probe
from unstall.probe.host import devices
from unstall.probe.host.exceptions import create_error_event
from unstall.probe.model import record as model_record

API = "unstall"  # who counts the steps, as FitBegan says it


def emit(event: Event) -> None:
    current = probe.get_current()
    if current is not None:
        current.emit(event)


def record(fingerprint: dict[str, Any], model: Any, batch: Mapping[str, tuple[Sequence[int], str]]) -> None:
    """What is learned from, what learns it and what it is fed with (shapes and dtypes), for a comparison with other runs."""
    emit(DataMeasured(at=time.time(), source=OF_TRAINER, fingerprint=fingerprint))
    arrays = [["x" if name == "images" else "y", name, list(shape), dtype] for name, (shape, dtype) in batch.items()]
    emit(BatchesCounted(at=time.time(), shapes=[{"arrays": arrays, "batches": 1}], different=1, batches=1))
    current = probe.get_current()
    if current is not None:
        current.shield.call("model record", model_record.get_record(current).report, model)


@contextmanager
def report_phase(name: str) -> Iterator[None]:
    """validate, save or predict: each has its own clock."""
    _call("phase_began", name)
    try:
        yield
    finally:
        current = probe.get_current()
        if current is not None and name in {"validate", "predict"}:
            current.shield.call("trainer", current.other.flush, time.monotonic())
        _call("phase_ended", name)


@contextmanager
def fit(backend: str, epochs: int, steps_per_epoch: int) -> Iterator[None]:
    """The training as a whole: within it, nobody else counts steps."""
    _call("fit_began", None, API, backend, epochs, steps_per_epoch, None)
    try:
        yield
    finally:
        _call("fit_ended")


def epoch_began(epoch: int) -> None:
    _call("epoch_began", epoch)


def epoch_ended(epoch: int, figures: dict[str, Any]) -> None:
    _call("epoch_ended", epoch, figures)


@contextmanager
def measure_input_wait() -> Iterator[None]:
    began = _call("input_began")
    try:
        yield
    finally:
        if began is not None:
            _call("input_ended", began)


def step_began() -> None:
    _call("step_began")


def step_ended(loss: Callable[[], float | None]) -> None:
    """The loss is asked for seldom; it may be that of a step before."""
    _call("step_ended", None, None, lambda: (loss(), 0))


def steps_paused(loss: float | None) -> None:
    """Something else comes next: what the steps took is counted up to here. The loss is that of the last one."""
    current = probe.get_current()
    if current is not None:
        current.shield.call("trainer", current.train.flush, time.monotonic(), loss)


def validation_step_ended(began: float) -> None:
    """A batch of a validation that began then (monotonic)."""
    _call("other_step", "validate", began)


def checkpoint_saved(path: str, seconds: float) -> None:
    """The training stood still for so long."""
    _call("saved", path, seconds, None)


def training_failed(error: BaseException) -> None:
    """An error that ends the training, as the probe tells those that reach the top; and what the devices' memory holds."""
    current = probe.get_current()
    if current is not None:
        event = (current, type(error), error, error.__traceback__, True)
        current.shield.call("trainer", lambda: current.emit(create_error_event(*event)))
        current.shield.call("trainer", devices.report_memory, current)


def count_steps_done() -> int:
    """Of this fit."""
    current = probe.get_current()
    return 0 if current is None else current.train.done


def report_alive() -> None:
    """Something was done, if not a step."""
    current = probe.get_current()
    if current is not None and current.pulse is not None:
        current.pulse.beat(time.monotonic())


def _call(name: str, *arguments: Any) -> Any:
    current = probe.get_current()
    return None if current is None else current.shield.call("trainer", getattr(current, name), *arguments)
