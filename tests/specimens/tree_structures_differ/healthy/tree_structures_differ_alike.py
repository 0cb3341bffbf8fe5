# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "tree_structures_differ"
# needs = []
# ///
"""The velocity is made from the weights themselves; trees that differ are compared, and that is expected to fail."""

import jax
import jax.numpy as jnp


def compute_loss(layers, x, y):
    for weights, bias in layers:
        x = jnp.tanh(x @ weights + bias)
    return ((x - y) ** 2).mean()


@jax.jit
def update(layers, velocity, x, y):
    gradients = jax.grad(compute_loss)(layers, x, y)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
    return jax.tree.map(lambda p, v: p - 0.01 * v, layers, velocity), velocity


if __name__ == "__main__":
    layers = [(jnp.full((4, 8), 0.1), jnp.zeros(8)), (jnp.full((8, 1), 0.1), jnp.zeros(1))]
    velocity = jax.tree.map(jnp.zeros_like, layers)
    x = jnp.ones((16, 4))
    for _ in range(20):
        layers, velocity = update(layers, velocity, x, jnp.full((16, 1), 0.5))
    try:
        jax.tree.map(jnp.add, layers, layers[:1])
    except ValueError:
        print("another model")
