"""Saving has its own clock: Model.save and save_weights of Keras 3 and tf_keras, and tf.train.Checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import user_place


def install_model(module: ModuleType, probe: Probe) -> None:
    for name in ("save", "save_weights"):
        wrap(module.Model, name, _timed(probe))


def install_checkpoint(module: ModuleType, probe: Probe) -> None:
    for name in ("save", "write", "_write"):  # CheckpointManager calls the last
        wrap(getattr(module, "Checkpoint", None), name, _timed(probe))


def _timed(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not probe.active or probe.phase == "save":
                return original(owner, *args, **kwargs)
            path = next(
                (str(value) for value in (*args, *kwargs.values()) if isinstance(value, str) or hasattr(value, "__fspath__")),
                "",
            )
            where = probe.shield.call("saving", user_place, 2)
            began = time.monotonic()
            probe.shield.call("saving", probe.phase_began, "save")
            try:
                return original(owner, *args, **kwargs)
            finally:
                probe.shield.call("saving", probe.phase_ended, "save")
                probe.shield.call("saving", probe.saved, path, time.monotonic() - began, where)

        return method

    return make
