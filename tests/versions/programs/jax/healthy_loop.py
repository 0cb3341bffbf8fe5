# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 399
# loss = true
# compare = true
# ///
"""A plain loop that is well."""

import numpy as np
import jax
import jax.numpy as jnp

rng = np.random.RandomState(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2
weights = {"kernel": jnp.zeros((8, 1)), "bias": jnp.zeros((1,))}


def loss_of(weights, x, y):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2)


@jax.jit
def train_step(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return {name: weights[name] - 0.01 * gradients[name] for name in weights}, loss


losses = []
for number in range(400):
    at = 32 * (number % 20)
    weights, loss = train_step(weights, features[at : at + 32], labels[at : at + 32])
    losses.append(float(loss))
print("fell:", losses[-1] < losses[0])
