# /// program
# cause = "host_memory_leaking"
# where = "KEPT HERE"
# ends = "exits"
# steps = 999
# loss = true
# ///
"""A loop keeps what it computed from the loss of every step in a list."""

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


kept = []
for number in range(1200):
    at = 32 * (number % 20)
    weights, loss = train_step(weights, features[at : at + 32], labels[at : at + 32])
    kept.append(np.full((250, 250), float(loss)))  # KEPT HERE
    time.sleep(0.02)
print("kept", len(kept))
