# /// specimen
# cause = "tree_structures_differ"
# also = []
# where = "REPEATED HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "tree_structures_differ_scan"
# needs = []
# ///
"""The function that scan repeats gives back one part more than it takes."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def advance(carry, x):
    hidden, count = carry
    hidden = jnp.tanh(hidden + x)
    return (hidden, count + 1, hidden.mean()), hidden


if __name__ == "__main__":
    mark()
    carry, outputs = jax.lax.scan(advance, (jnp.zeros(4), jnp.zeros((), jnp.int32)), jnp.ones((16, 4)))  # REPEATED HERE
    print(outputs.shape)
