# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "tracer_used"
# needs = []
# ///
"""Python's if asks for a static argument and a shape, which are concrete; what depends on values is chosen by where."""

from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.jit, static_argnames="reduced")
def loss_of(boxes: jax.Array, mask: jax.Array, reduced: bool) -> jax.Array:
    error = jnp.where(mask[:, None], jnp.abs(boxes), 0.0)
    if reduced and boxes.shape[0] > 1:
        return error.sum() / jnp.maximum(mask.sum(), 1)
    return error


for reduced in (True, False):
    print(loss_of(jnp.ones((8, 4)), jnp.arange(8) > 4, reduced).shape)
