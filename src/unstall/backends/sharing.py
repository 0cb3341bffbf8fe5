"""Which backend several processes can share a training step on."""

from __future__ import annotations

import os
from collections.abc import Mapping

from unstall.backends import is_installed
from unstall.base.errors import InvalidInputError, MissingDependencyError

CAN_SHARE = "jax"  # Keras has a distribution over processes for it alone


def backend_for(backend: str, workers: int, environ: Mapping[str, str] = os.environ) -> str:
    """What the setting `backend` means for so many workers. One that cannot share a step is refused. Nothing is loaded."""
    if workers == 1:
        return backend
    said = backend if backend != "auto" else environ.get("KERAS_BACKEND") or CAN_SHARE
    if said != CAN_SHARE:
        source = "backend" if backend != "auto" else "KERAS_BACKEND"
        raise InvalidInputError(
            f"{source}: expected {CAN_SHARE} for {workers} workers, as Keras shares a step between processes on no other. "
            f"Received: {said}. Write --backend {CAN_SHARE}, or --num-workers 1"
        )
    if not is_installed(CAN_SHARE):
        raise MissingDependencyError(
            f"{workers} workers need the package '{CAN_SHARE}'. Install: pip install 'unstall[{CAN_SHARE}]'"
        )
    return CAN_SHARE
