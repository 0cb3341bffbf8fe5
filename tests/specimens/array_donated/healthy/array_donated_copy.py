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
"""The best weights are copied before the next step takes them over; one that was deleted is expected."""

import jax
import jax.numpy as jnp


def compute_loss(params, x, y):
    return ((x @ params["w"] - y) ** 2).mean()


def step(params, x, y):
    loss, gradients = jax.value_and_grad(compute_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


if __name__ == "__main__":
    step = jax.jit(step, donate_argnums=0)
    first = params = {"w": jnp.zeros((4, 1))}
    x = jax.random.normal(jax.random.key(0), (64, 4))
    y = x.sum(axis=1, keepdims=True)
    for _ in range(50):
        params, loss = step(params, x, y)
        best = jax.tree.map(jnp.copy, params)
    try:
        print(first["w"].sum())
    except RuntimeError:
        print("the first weights are gone")
    print(best["w"].sum(), float(loss))
