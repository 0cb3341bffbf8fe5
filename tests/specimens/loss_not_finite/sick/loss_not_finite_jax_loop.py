# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "THE STEP"
# framework = "python"
# ends = "exits"
# seconds = 35
# near = "loop_log_with_floor"
# needs = []
# ///
"""A loop in plain JAX; once a prediction rounds to 1, the loss holds 0 * log(0)."""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

rng = np.random.default_rng(4)
visitors = rng.normal(size=(8000, 16)).astype("float32")
clicked = (visitors[:, :1] + visitors[:, 1:2] > 0).astype("float32")
visitors[:, 2] += 4 * clicked[:, 0]


def entropy(weights, batch, target):
    hidden = jax.nn.relu(batch @ weights["hidden"])
    predicted = jax.nn.sigmoid(hidden @ weights["output"])
    return -jnp.mean(target * jnp.log(predicted) + (1 - target) * jnp.log(1 - predicted))


@jax.jit
def train_step(weights, batch, target):
    loss, gradients = jax.value_and_grad(entropy)(weights, batch, target)
    return jax.tree_util.tree_map(lambda weight, gradient: weight - 0.5 * gradient, weights, gradients), loss


weights = {"hidden": jnp.asarray(rng.normal(size=(16, 64)) / 4), "output": jnp.asarray(rng.normal(size=(64, 1)) / 8)}
end = time.monotonic() + 22
step = 0
while time.monotonic() < end:
    chosen = rng.integers(0, len(visitors), 32)
    weights, loss = train_step(weights, visitors[chosen], clicked[chosen])  # THE STEP
    if not np.isfinite(loss):
        mark()
    if step % 5000 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    step += 1
