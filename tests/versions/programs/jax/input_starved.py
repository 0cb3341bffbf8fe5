# /// program
# cause = "input_starved"
# also = ["storage_slow"]
# where = "SLOW HERE"
# ends = "exits"
# steps = 99
# loss = true
# ///
"""A generator sleeps before each batch, as one does that fetches it from afar."""

import time

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


def batches():
    for number in range(120):
        time.sleep(0.3)  # SLOW HERE
        at = 32 * (number % 20)
        yield features[at : at + 32], labels[at : at + 32]


for x, y in batches():
    weights, loss = train_step(weights, x, y)
print("done")
