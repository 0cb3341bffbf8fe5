# /// program
# cause = "matrix_shapes_mismatch"
# where = "FAILS HERE"
# ends = "crashes"
# compare = true
# ///
"""A batch has the wrong shape."""

import numpy as np
import jax
import jax.numpy as jnp

rng = np.random.RandomState(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2
weights = {"kernel": jnp.zeros((8, 1)), "bias": jnp.zeros((1,))}


def loss_of(weights, x, y):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2)  # FAILS HERE


@jax.jit
def train_step(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return {name: weights[name] - 0.01 * gradients[name] for name in weights}, loss


for number in range(20):
    x = features[:, :7] if number == 10 else features
    weights, loss = train_step(weights, x, labels)
