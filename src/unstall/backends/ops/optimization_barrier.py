"""Values that a compiler is to take for others, though they are the same."""

from __future__ import annotations

from typing import Any

from unstall.backends import running_backend

Tensor = Any


def add_optimization_barrier(x: Tensor) -> Tensor:
    """The same, of which nothing is known: what is computed of it is computed by itself, and not shared with what is computed of
    `x` elsewhere. XLA shares by keeping, and keeps what would sooner be computed twice. (TensorFlow has no word for it.)"""
    if running_backend() != "jax":
        return x
    import jax

    return jax.lax.optimization_barrier(x)
