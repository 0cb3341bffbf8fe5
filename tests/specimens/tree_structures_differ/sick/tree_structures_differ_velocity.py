# /// specimen
# cause = "tree_structures_differ"
# also = []
# where = "MIXED HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "tree_structures_differ_alike"
# needs = []
# ///
"""The velocity of momentum was made by hand, as lists where the weights are tuples."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def compute_loss(layers, x, y):
    for weights, bias in layers:
        x = jnp.tanh(x @ weights + bias)
    return ((x - y) ** 2).mean()


def update(layers, velocity, x, y):
    gradients = jax.grad(compute_loss)(layers, x, y)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)  # MIXED HERE
    return jax.tree.map(lambda p, v: p - 0.1 * v, layers, velocity), velocity


if __name__ == "__main__":
    layers = [(jnp.full((4, 8), 0.1), jnp.zeros(8)), (jnp.full((8, 1), 0.1), jnp.zeros(1))]
    velocity = [[jnp.zeros_like(part) for part in layer] for layer in layers]
    x = jnp.ones((16, 4))
    mark()
    for _ in range(20):
        layers, velocity = update(layers, velocity, x, x.sum(axis=1, keepdims=True))
