# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 199
# loss = true
# compare = true
# ///
"""Gradients without jit, an evaluation that is compiled, and a loss that stays where it is for a while."""

import numpy as np
import jax
import jax.numpy as jnp

rng = np.random.RandomState(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2
weights = {"kernel": jnp.zeros((8, 1)), "bias": jnp.zeros((1,))}


def loss_of(weights, x, y):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2)


evaluate = jax.jit(loss_of)
before = float(evaluate(weights, features, labels))
for number in range(200):
    at = 32 * (number % 20)
    gradients = jax.grad(loss_of)(weights, features[at : at + 32], labels[at : at + 32])
    weights = {name: weights[name] - 0.01 * gradients[name] for name in weights}
    if number % 20 == 19:
        evaluate(weights, features, labels)
print("fell:", float(evaluate(weights, features, labels)) < before)
