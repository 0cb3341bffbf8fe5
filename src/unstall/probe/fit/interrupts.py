"""A fit that is left by an interrupt. In a notebook the process lives on: nothing else says that the training is over.

`fit` itself is wrapped, for an interrupt may come in the middle of anything. Nothing is read or waited for on the way out: the
device may be what the program hangs on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.errors.exceptions import create_error_event


def install_tensorflow(module: ModuleType, probe: Probe) -> None:
    wrap(module.TensorFlowTrainer, "fit", _around(probe))


def install_jax(module: ModuleType, probe: Probe) -> None:
    wrap(module.JAXTrainer, "fit", _around(probe))


def install_torch(module: ModuleType, probe: Probe) -> None:
    wrap(module.TorchTrainer, "fit", _around(probe))


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    wrap(module.Model, "fit", _around(probe))


def _around(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def fit(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except (KeyboardInterrupt, SystemExit) as error:
                if probe.active and probe.fit_depth:
                    probe.shield.call("interrupts", report, probe, error)
                raise

        return fit

    return make


def report(probe: Probe, error: BaseException) -> None:
    """The event comes before the pulse moves: else the program would seem to have gone on."""
    probe.emit(create_error_event(probe, type(error), error, error.__traceback__, fatal=False))
    if probe.pulse is not None:
        probe.pulse.phase("between", time.monotonic())
