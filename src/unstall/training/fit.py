"""Trains a detector from Python, by the same step as `unstall train`.

    from unstall.training.fit import fit

    history = fit(detector, pipeline, epochs=12, optimizer="adamw", learning_rate=1e-4)

Callbacks of Keras work as they do with `Model.fit`: each gets the detector as its model, and as logs the mean losses of the epoch
so far. Settings have the names, defaults and ranges that they have in `unstall train`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest
from unstall.config.detectors import list_variants
from unstall.config.settings import Settings
from unstall.config.sources import get_recipe
from unstall.data.example import DataSet
from unstall.data.pipeline import Pipeline
from unstall.detectors.detector import Detector, InferenceModel
from unstall.training.evaluate.evaluation import evaluate
from unstall.training.step.step import Step, StepNumbers, StepOutput

# The settings of `unstall train` that a step goes by. The others are of the pipeline, the detector or the run.
STEP_SETTINGS = (
    "optimizer", "learning_rate", "momentum", "weight_decay", "clip_norm", "warmup_steps", "lr_schedule", "lr_milestones",
    "ema_decay", "micro_batch_size", "seed",
)  # fmt: skip


def fit(
    detector: Detector,
    pipeline: Pipeline,
    *,
    epochs: int = 1,
    validation_data: DataSet | None = None,
    callbacks: Sequence[Any] = (),
    verbose: int | str = "auto",
    **settings: Any,
) -> Any:
    """Trains the detector on the batches of the pipeline and returns a `keras.callbacks.History`.

    Args:
        detector: the detector, which is trained in place.
        pipeline: what it is trained on. Its batch size is that of an update.
        epochs: how often the whole data set is passed through.
        validation_data: a data set that is evaluated after each epoch; the logs then have `val_AP`, `val_AP50`, …
        callbacks: callbacks of Keras. They may set `detector.stop_training`.
        verbose: as in `Model.fit`: "auto", 0 (silent), 1 (a progress bar) or 2 (a line for each epoch).
        **settings: settings of `unstall train`, by their names: optimizer, learning_rate, momentum, weight_decay, clip_norm,
            warmup_steps, lr_schedule, lr_milestones, ema_decay, micro_batch_size, seed. The detector's recipe gives the rest.

    Returns:
        The history: in each epoch the mean of every loss (`loss`, `class_loss`, `box_loss`, …).
    """
    chosen = resolve_step_settings(detector, pipeline, epochs, settings)
    steps = pipeline.steps_per_epoch
    step = Step(detector, chosen, epochs * steps)
    progress = _progress(verbose)
    listening = keras.callbacks.CallbackList(
        list(callbacks), add_history=True, add_progbar=progress != 0, model=detector, verbose=progress, epochs=epochs, steps=steps
    )
    reads_each = bool(callbacks) or progress == 1  # to read a step's losses is to wait for the device
    detecting = InferenceModel(detector) if validation_data is not None else None
    detector.stop_training = False
    listening.on_train_begin()
    logs: dict[str, float] = {}
    with pipeline.batches(epochs=epochs) as batches:
        for epoch in range(epochs):
            listening.on_epoch_begin(epoch)
            means = LossMeans(detector.loss_names)
            for number in range(steps):
                listening.on_train_batch_begin(number)
                means.add(step(next(batches).inputs()))
                logs = means.read() if reads_each else {}
                listening.on_train_batch_end(number, logs)
                if detector.stop_training:
                    break
            logs = means.read()
            with step.get_ema_weights():
                if detecting is not None and validation_data is not None:
                    figures = evaluate(detecting, validation_data, batch_size=chosen.at_once).score.figures()
                    logs |= {f"val_{name}": float(value) for name, value in figures.items() if value >= 0}  # -1: no such objects
                listening.on_epoch_end(epoch, logs)
            if detector.stop_training:
                break
    if chosen.ema_decay:
        _keep_averages(detector, step)
    listening.on_train_end(logs)
    return detector.history


def resolve_step_settings(detector: Detector, pipeline: Pipeline, epochs: int, given: dict[str, Any]) -> Settings:
    """The recipe of the detector's variant, changed by what is given."""
    for name in given:
        if name not in STEP_SETTINGS:
            raise InvalidInputError(
                f"fit: there is no setting '{name}'.{suggest_closest(name, STEP_SETTINGS)} Expected: {', '.join(STEP_SETTINGS)}."
            )
    published = (
        get_recipe(detector.name, epochs) if detector.name in list_variants() else {}
    )  # one of its own settings has no recipe
    recipe = {name: value for name, value in published.items() if name in STEP_SETTINGS}
    own = {"seed": pipeline.settings.seed, "epochs": epochs, "batch_size": pipeline.settings.batch_size}
    return Settings(**{**own, **recipe, **given}, model=detector.name)


def _progress(verbose: int | str) -> int:
    """As Keras numbers it."""
    if verbose not in {"auto", 0, 1, 2}:
        raise InvalidInputError(f"verbose: expected 'auto', 0, 1 or 2. Received: {verbose!r}")
    return 1 if verbose == "auto" else int(verbose)


class LossMeans:
    """The mean of each loss over the steps of an epoch. Steps are read when somebody asks, and not before."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._unread = names, list[StepOutput]()
        self._sums, self._count = dict.fromkeys(("loss", *(f"{name}_loss" for name in names)), 0.0), 0

    def add(self, output: StepOutput) -> None:
        self._unread.append(output)

    def read(self) -> dict[str, float]:
        for output in self._unread:
            self._add(output.read())
        self._unread.clear()
        return {name: total / max(1, self._count) for name, total in self._sums.items()}

    def _add(self, numbers: StepNumbers) -> None:
        self._count += 1
        self._sums["loss"] += numbers.loss
        for name in self._names:
            self._sums[f"{name}_loss"] += numbers.losses[name]


def _keep_averages(detector: Detector, step: Step) -> None:
    """The detector ends with the averages of its weights, as it does with an optimizer of Keras that has `use_ema`."""
    with step.get_ema_weights():
        weights = detector.get_weights()
    detector.set_weights(weights)
