"""What the backend computes on, and how much of its memory is in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from unstall.backends import find_running_backend

_card_elsewhere: ContextVar[bool] = ContextVar("compiled for a card that is not here", default=False)


def choose_device() -> str:
    """As its maker calls it; `cpu` for the processor."""
    backend = find_running_backend()
    if backend == "jax":
        import jax

        first = jax.local_devices()[0]
        return "cpu" if first.platform == "cpu" else str(first.device_kind)
    if backend == "torch":
        import torch

        return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    graphics = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(graphics[0]) if graphics else {}
    return str(details.get("device_name", "gpu")) if graphics else "cpu"


def read_memory_in_use_bytes() -> int | None:
    """Of the device; None where the program computes in the memory of the host, or the backend does not say."""
    backend = find_running_backend()
    if backend == "jax":
        import jax

        said = jax.local_devices()[0].memory_stats()
        return int(said["bytes_in_use"]) if said and "bytes_in_use" in said else None
    if backend == "torch":
        import torch

        return int(torch.cuda.memory_allocated()) if torch.cuda.is_available() else None
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        return None
    return int(tf.config.experimental.get_memory_info("GPU:0")["current"])


@contextmanager
def trace_for_gpu() -> Iterator[None]:
    """What is traced inside is what would run on a card, though none is here."""
    token = _card_elsewhere.set(True)
    try:
        yield
    finally:
        _card_elsewhere.reset(token)


def is_on_processor() -> bool:
    """Whether the backend that Keras runs on sees no card, and none is meant."""
    return not _card_elsewhere.get() and _sees_no_card()


@cache
def _sees_no_card() -> bool:
    """Its devices do not change once it has started."""
    return choose_device() == "cpu"


def is_compiled() -> bool:
    """Whether XLA makes one program of a step, as Keras chooses by itself: on JAX, and on TensorFlow where there is a card."""
    return find_running_backend() == "jax" or (find_running_backend() == "tensorflow" and not is_on_processor())


def is_compiled_for_card() -> bool:
    return is_compiled() and not is_on_processor()
