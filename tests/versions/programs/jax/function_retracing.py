# /// program
# cause = "function_retracing"
# also = ["compiling_long"]
# where = "TRACED AGAIN"
# ends = "exits"
# steps = 599
# ///
"""Every batch has a length of its own, so that the step is compiled anew each time."""

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
def train_step(weights, x, y):  # TRACED AGAIN
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return {name: weights[name] - 0.01 * gradients[name] for name in weights}, loss


for length in range(1, 601):
    weights, loss = train_step(weights, features[:length], labels[:length])
