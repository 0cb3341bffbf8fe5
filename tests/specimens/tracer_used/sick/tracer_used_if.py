# /// specimen
# cause = "tracer_used"
# also = []
# where = "ASKED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "tracer_used_where"
# needs = []
# ///
"""A loss that jit compiles divides by the number of objects, unless there are none: Python's if cannot know that."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def loss_of(weights: jax.Array, boxes: jax.Array, mask: jax.Array) -> jax.Array:
    error = (jnp.abs(boxes @ weights) * mask[:, None]).sum()
    count = mask.sum()
    if count > 0:  # ASKED HERE
        error = error / count
    return error


@jax.jit
def update(weights: jax.Array, boxes: jax.Array, mask: jax.Array) -> jax.Array:
    return weights - 0.1 * jax.grad(loss_of)(weights, boxes, mask)


mark()
print(update(jnp.ones((4, 4)), jnp.ones((8, 4)), jnp.ones(8)).shape)
