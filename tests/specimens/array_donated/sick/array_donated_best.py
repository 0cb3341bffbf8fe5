# /// specimen
# cause = "array_donated"
# also = []
# where = "KEPT HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "array_donated_copy"
# needs = []
# ///
"""The best weights are kept as another name for arrays that the next step takes over."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def compute_loss(params, x, y):
    return ((x @ params["w"] + params["b"] - y) ** 2).mean()


def step(params, x, y):
    loss, gradients = jax.value_and_grad(compute_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


if __name__ == "__main__":
    step = jax.jit(step, donate_argnums=0)
    params = {"w": jnp.zeros((4, 1)), "b": jnp.zeros(1)}
    x = jax.random.normal(jax.random.key(0), (64, 4))
    y = x.sum(axis=1, keepdims=True)
    mark()
    best, lowest = None, float("inf")
    for number in range(50):
        params, loss = step(params, x, y)
        if number % 10 == 5 and loss < lowest:
            lowest = float(loss)
            best = params  # KEPT HERE
    print(lowest, best["w"].sum(), compute_loss(best, x, y))
