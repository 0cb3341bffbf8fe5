"""Which backend Keras runs on: the only place that names one, and it must be chosen before Keras is first imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Mapping

from unstall.backends import allocators
from unstall.base.errors import InvalidInputError, MissingDependencyError

CAN_SHARE = "jax"  # Keras has a distribution over processes for it alone

BACKENDS = ("tensorflow", "jax", "torch")  # the first that is there is taken where nobody says which


def list_distributions(backend: str) -> tuple[str, ...]:
    """Under which names it may be installed."""
    return {"tensorflow": ("tensorflow", "tensorflow-cpu"), "jax": ("jax", "jaxlib")}.get(backend, (backend,))


def choose(name: str | None = None, takes_card: bool = False) -> str:
    """Makes Keras run on this backend, and says which it is. None: as the environment says, else the first that is installed.

    `takes_card`: for a training, which may have the card to itself. Whatever else computes leaves others their room on it.
    """
    _refuse_unknown(name)
    running = find_running_backend()
    if running is not None:
        if name not in {None, running}:
            raise InvalidInputError(f"Keras runs on {running} already in this process; {name} needs a process of its own.")
        return running
    chosen = find_preferred_backend(name)
    os.environ["KERAS_BACKEND"] = chosen
    # TensorFlow's remarks on the machine are no message of ours; it calls some of them errors. What really fails is raised.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if takes_card:
        allocators.reserve_gpu(chosen)
    else:
        allocators.share_gpu(chosen)
    return chosen


def find_preferred_backend(name: str | None = None) -> str:
    """The backend that `choose` would take in a fresh process. Nothing is changed."""
    _refuse_unknown(name)
    chosen = name or os.environ.get("KERAS_BACKEND") or next((each for each in BACKENDS if is_installed(each)), "")
    if not chosen:
        raise MissingDependencyError(
            "Keras needs a backend, and none is installed. Install one: pip install 'unstall[tensorflow]'"
        )
    if chosen not in BACKENDS:
        raise InvalidInputError(f"KERAS_BACKEND: expected one of {', '.join(BACKENDS)}. Received: '{chosen}'")
    for package in (chosen, "keras"):
        if not is_installed(package):
            raise MissingDependencyError(
                f"The backend '{chosen}' needs the package '{package}'. Install: pip install 'unstall[{chosen}]'"
            )
    return chosen


def _refuse_unknown(name: str | None) -> None:
    if name is not None and name not in BACKENDS:
        raise InvalidInputError(f"There is no backend '{name}'. Expected one of: {', '.join(BACKENDS)}.")


def find_running_backend() -> str | None:
    """None where Keras is not imported yet."""
    keras = sys.modules.get("keras")
    return str(keras.backend.backend()) if keras is not None else None


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def choose_backend_for(backend: str, workers: int, environ: Mapping[str, str] = os.environ) -> str:
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
