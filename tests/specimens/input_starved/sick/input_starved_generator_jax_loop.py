# /// specimen
# cause = "input_starved"
# also = []
# where = "READ SLOWLY"
# framework = "python"
# ends = "exits"
# seconds = 45
# near = "prefetched_jax_loop"
# needs = []
# ///
"""A loop in plain JAX over a generator that waits for each batch, as for one from a far away store."""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

rng = np.random.default_rng(0)
features = rng.normal(size=(4096, 32)).astype("float32")


def batches():
    while True:
        chosen = rng.integers(0, len(features), 64)
        time.sleep(0.2)  # READ SLOWLY
        yield features[chosen], features[chosen, :1]


@jax.jit
def train_step(weights, batch, target):
    loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((batch @ weights - target) ** 2))(weights)
    return weights - 0.02 * gradient, loss


weights = jnp.zeros((32, 1))
mark()
end = time.monotonic() + 30
for step, (batch, target) in enumerate(batches()):
    weights, loss = train_step(weights, batch, target)
    if step % 50 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    if time.monotonic() > end:
        break
