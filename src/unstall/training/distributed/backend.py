"""Several processes on one backend: which can, how they join, and whether an error says that others are gone."""

from __future__ import annotations

import platform

from unstall.backends.packages import find_version
from unstall.training.distributed.collectives import Channel
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.rendezvous import RendezvousResult

PACKAGES = ("unstall", "keras", "jax", "jaxlib", "numpy")  # by which the same program is compiled
ERRORS = (RuntimeError, ValueError)  # what such an error may be: JAX raises either
# How libraries below the backend say that another process is gone, or cannot be reached any more.
WORDS = (
    "gloo", "nccl", "connection closed by peer", "connection reset", "coordination service", "coordination_service",
    "unhealthy", "heartbeat", "socket closed", "failed to connect to all addresses",
)  # fmt: skip


def read_versions() -> dict[str, str]:
    """Of all that processes must have the same of, or they would not compute the same program."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{package: find_version(package) for package in PACKAGES}}


def load() -> None:
    """What `join` needs. It may take long on a machine that has much to do, so that it is done before they meet: who has met
    waits for nobody any more."""
    from unstall.training.distributed import backend_jax  # noqa: F401


def join(who: ProcessEnv, met: RendezvousResult) -> Channel:
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
