# /// specimen
# cause = "matrix_shapes_mismatch"
# also = []
# where = "MADE HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "matrix_shapes_mismatch_retry"
# needs = []
# ///
"""The first state of a recurrent network has no dimension for the batch, and the states that the body returns have one."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def forward(weights: jax.Array, series: jax.Array) -> jax.Array:
    def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(row @ weights + state), None

    state = jnp.zeros(16)  # MADE HERE
    last, _ = jax.lax.scan(step, state, series)
    return last


mark()
print(forward(jnp.ones((3, 16)), jnp.ones((5, 8, 3))))
