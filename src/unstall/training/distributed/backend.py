"""Several processes on one backend: which can, how they join, and whether an error says that others are gone."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping

from unstall.backends import is_installed
from unstall.backends.packages import version_of
from unstall.base.errors import InvalidInputError, MissingDependencyError
from unstall.training.distributed.collectives import Channel
from unstall.training.distributed.process_env import Membership
from unstall.training.distributed.rendezvous import Met

CAN_SHARE = "jax"  # Keras has a distribution over processes for it alone
PACKAGES = ("unstall", "keras", "jax", "jaxlib", "numpy")  # by which the same program is compiled
ERRORS = (RuntimeError, ValueError)  # what such an error may be: JAX raises either
# How libraries below the backend say that another process is gone, or cannot be reached any more.
WORDS = (
    "gloo", "nccl", "connection closed by peer", "connection reset", "coordination service", "coordination_service",
    "unhealthy", "heartbeat", "socket closed", "failed to connect to all addresses",
)  # fmt: skip


def backend_for(backend: str, workers: int, environ: Mapping[str, str] = os.environ) -> str:
    """What the setting `backend` means for so many workers. One that cannot share a step is refused. Nothing is loaded."""
    if workers == 1:
        return backend
    said = backend if backend != "auto" else environ.get("KERAS_BACKEND") or CAN_SHARE
    if said != CAN_SHARE:
        source = "backend" if backend != "auto" else "KERAS_BACKEND"
        raise InvalidInputError(
            f"{source}: expected {CAN_SHARE} for {workers} workers, as Keras shares a step between processes on no other. "
            f"Received: {said}. Write --backend {CAN_SHARE}, or --workers 1"
        )
    if not is_installed(CAN_SHARE):
        raise MissingDependencyError(
            f"{workers} workers need the package '{CAN_SHARE}'. Install: pip install 'unstall[{CAN_SHARE}]'"
        )
    return CAN_SHARE


def versions() -> dict[str, str]:
    """Of all that processes must have the same of, or they would not compute the same program."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{package: version_of(package) for package in PACKAGES}}


def load() -> None:
    """What `join` needs. It may take long on a machine that has much to do, so that it is done before they meet: who has met
    waits for nobody any more."""
    from unstall.training.distributed import backend_jax  # noqa: F401


def join(who: Membership, met: Met) -> Channel:
    """After they have met, before anything is computed."""
    from unstall.training.distributed import backend_jax

    return backend_jax.join(who, met)


def leave() -> None:
    """When all are done."""
    from unstall.training.distributed import backend_jax

    backend_jax.leave()


def are_others_lost(error: BaseException) -> bool:
    """Whether it says so; of an error that a backend raised in a process that shares its steps."""
    text = str(error).lower()
    return any(words in text for words in WORDS)
