# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "array_donated"
# needs = []
# ///
"""Each step is given what the last one returned."""

import jax
import jax.numpy as jnp


def update(weights, x):
    return weights - 0.01 * x.mean(axis=0), (x @ weights).mean()


if __name__ == "__main__":
    step = jax.jit(update, donate_argnames=("weights",))
    weights = jnp.ones(4)
    for number in range(30):
        weights, loss = step(weights, x=jnp.ones((8, 4)))
        print(number, loss)
