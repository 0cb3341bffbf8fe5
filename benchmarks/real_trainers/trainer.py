"""What a trainer and a case are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """What is done to a training, and which verdicts are right."""

    name: str
    causes: tuple[str, ...] = ()  # any of them, named first; none: the training is healthy
    hangs: bool = False  # it is ended by us, and also looked at with `unstall attach`
    goes_on: bool = False  # it ends by itself, late: it is ended by us when it was watched for long enough
    kills: bool = False


HEALTHY = Fault("healthy")
FAULTS = {
    fault.name: fault
    for fault in (
        HEALTHY,
        Fault("input_blocked", ("generator_blocked", "reader_blocked"), hangs=True),
        Fault("input_blocked_later", ("generator_blocked", "reader_blocked"), hangs=True),
        Fault("input_slow", ("input_starved", "storage_slow", "python_in_pipeline"), goes_on=True),
        Fault("learning_rate", ("learning_rate_too_high", "loss_not_finite", "gradients_exploding")),
        Fault("image_corrupt", ("record_corrupt",)),
        Fault("record_corrupt", ("record_corrupt",)),
        Fault("label_unknown", ("labels_invalid", "loss_output_mismatch")),
        Fault("pattern_empty", ("path_missing",)),
        Fault("killed", ("killed_from_outside",), kills=True),
    )
}


@dataclass(frozen=True)
class Case:
    """One way to start a trainer."""

    command: list[str]  # the first word is the interpreter of the trainer's environment
    where: str = ""  # a regular expression: what the verdict must name of the user's files, as a path, a line or both
    environ: dict[str, str] = field(default_factory=dict)
    causes: tuple[str, ...] = ()  # instead of those of the fault
    when_training: Callable[[], object] | None = None  # called once, when the first step was seen
    prints: str = r"loss['\"]?\s*[:=]\s*['\"]?\d"  # a regular expression: what it prints once it trains
    is_handled: bool = False  # the trainer copes with the fault and trains on: no verdict is right
    seconds: float = 0.0  # of a training that goes on or hangs: how long it is watched, 0 for the usual time


@dataclass(frozen=True)
class Trainer:
    name: str
    python: str  # the version of its interpreter, such as 3.9
    installs: tuple[str, ...]  # arguments of pip, one call for each
    cases: tuple[str, ...]  # names of faults
    prepare: Callable[[Path, str, str], Case]  # (an empty folder, the fault, the interpreter)
    versions: str = ""  # of what it runs on, for the table


def load_all() -> dict[str, Trainer]:
    """By the name of the file."""
    package = importlib.import_module("benchmarks.real_trainers.trainers")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name: importlib.import_module(f"{package.__name__}.{name}").TRAINER for name in sorted(names)}
