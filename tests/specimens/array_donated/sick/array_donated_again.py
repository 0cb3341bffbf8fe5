# /// specimen
# cause = "array_donated"
# also = []
# where = "GIVEN AGAIN HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "array_donated_renamed"
# needs = []
# ///
"""The result of a step is given another name, and the next step is given what the first has taken over."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


@jax.jit
def evaluate(weights, x):
    return (x @ weights).mean()


def update(weights, x):
    return weights - 0.01 * x.mean(axis=0), (x @ weights).mean()


if __name__ == "__main__":
    step = jax.jit(update, donate_argnames=("weights",))
    weights = jnp.ones(4)
    mark()
    for number in range(3):
        new_weights, loss = step(weights, x=jnp.ones((8, 4)))  # GIVEN AGAIN HERE
        print(number, loss, evaluate(new_weights, jnp.ones((8, 4))))
