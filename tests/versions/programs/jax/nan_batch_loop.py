# /// program
# cause = "loss_not_finite"
# where = ""
# ends = "exits"
# steps = 399
# loss = true
# ///
"""One batch holds a value that is no number, and the loss is none from then on."""

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


for number in range(400):
    at = 32 * (number % 20)
    x = features[at : at + 32].copy()
    if number == 150:
        x[3, 2] = np.nan
    weights, loss = train_step(weights, x, labels[at : at + 32])
print("loss", float(loss))
