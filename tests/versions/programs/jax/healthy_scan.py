# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 59
# compare = true
# ///
"""Each pass over the data is one call. The optimizer holds a rate and a count, and batches have one of four sizes."""

from typing import Any, NamedTuple

import numpy as np
import jax
import jax.numpy as jnp

rng = np.random.RandomState(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2
weights = {"kernel": jnp.zeros((8, 1)), "bias": jnp.zeros((1,))}


def loss_of(weights, x, y):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2)


class State(NamedTuple):
    count: Any
    rate: Any
    momentum: Any


@jax.jit
def one_pass(weights, state, rows, targets):
    def step(carried, batch):
        weights, state = carried
        loss, gradients = jax.value_and_grad(loss_of)(weights, *batch)
        momentum = {name: 0.9 * state.momentum[name] + gradients[name] for name in weights}
        weights = {name: weights[name] - state.rate * momentum[name] for name in weights}
        return (weights, State(state.count + 1, state.rate * 1.01, momentum)), loss

    (weights, state), losses = jax.lax.scan(step, (weights, state), (rows, targets))
    return weights, state, losses


state = State(jnp.float32(0), jnp.float32(0.0001), {name: jnp.zeros_like(weights[name]) for name in weights})
for number in range(60):
    size = (8, 16, 32, 64)[number % 4]
    rows, targets = features.reshape(-1, size, 8)[:10], labels.reshape(-1, size, 1)[:10]
    weights, state, losses = one_pass(weights, state, rows, targets)
    losses.block_until_ready()
print("finite:", bool(jnp.all(jnp.isfinite(losses))))
