# /// specimen
# cause = "function_retracing"
# also = []
# where = "COMPILED FOR EACH RATE"
# framework = "python"
# ends = "exits"
# seconds = 55
# near = "buckets_jax_loop"
# needs = []
# ///
"""The learning rate is a static argument of the step, and falls with each step: each value compiles it anew."""

import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

rng = np.random.default_rng(0)
features = rng.normal(size=(4096, 32)).astype("float32")
targets = np.tanh(features[:, :1])


def loss_of(weights, batch, target):
    for weight in weights[:-1]:
        batch = jnp.tanh(batch @ weight)
    return jnp.mean((batch @ weights[-1] - target) ** 2)


@partial(jax.jit, static_argnames="rate")
def train_step(weights, batch, target, rate):  # COMPILED FOR EACH RATE
    loss, gradients = jax.value_and_grad(loss_of)(weights, batch, target)
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients)], loss


sizes = (32, 128, 128, 1)
weights = [jnp.asarray(rng.normal(size=shape) / shape[0] ** 0.5, "float32") for shape in zip(sizes, sizes[1:])]
mark()
end = time.monotonic() + 40
step = 0
while time.monotonic() < end:
    chosen = rng.integers(0, len(features), 64)
    weights, loss = train_step(weights, features[chosen], targets[chosen], rate=0.02 / (1 + step / 1000))
    step += 1
print(f"{step} steps, loss {float(loss):.4f}")
