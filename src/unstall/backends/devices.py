"""Where the backend computes: on a graphics card, or on the processor alone."""

from __future__ import annotations

from functools import cache


@cache
def is_on_processor() -> bool:
    """Whether the backend that Keras runs on sees no card. Its devices do not change once it has started."""
    from unstall.backends import running_backend

    backend = running_backend()
    if backend == "jax":
        import jax

        return bool(jax.default_backend() == "cpu")
    if backend == "tensorflow":
        import tensorflow as tf

        return not tf.config.list_physical_devices("GPU")
    import torch

    return not torch.cuda.is_available()
