# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 50
# near = "function_retracing"
# needs = []
# ///
"""Sentences padded to one of twelve lengths in plain JAX: twelve compilations, all in the beginning; a second step trains the output
alone, and an evaluation has shapes of its own."""

import time

import jax
import jax.numpy as jnp
import numpy as np

LENGTHS = tuple(range(16, 208, 16))
rng = np.random.default_rng(0)
weights = {"words": jnp.asarray(rng.normal(size=(500, 32)), "float32"), "output": jnp.zeros((32, 1))}


def loss_of(weights, words, labels):
    found = jnp.mean(weights["words"][words], axis=1) @ weights["output"]
    return jnp.mean(jnp.logaddexp(0.0, found) - labels * found)


@jax.jit
def train_step(weights, words, labels):
    loss, gradients = jax.value_and_grad(loss_of)(weights, words, labels)
    return jax.tree_util.tree_map(lambda weight, gradient: weight - 0.5 * gradient, weights, gradients), loss


@jax.jit
def train_output(weights, words, labels):
    gradient = jax.grad(lambda output: loss_of({**weights, "output": output}, words, labels))(weights["output"])
    return {**weights, "output": weights["output"] - 0.5 * gradient}


evaluate = jax.jit(loss_of)
end = time.monotonic() + 22
step = 0
while time.monotonic() < end:
    words = rng.integers(0, 500, (16, int(rng.choice(LENGTHS))))
    labels = (words.mean(axis=1, keepdims=True) > 250).astype("float32")
    weights, loss = train_step(weights, words, labels)
    if step % 10 == 0:
        weights = train_output(weights, words, labels)
    if step % 500 == 0:
        rows = rng.integers(0, 500, (64 + step // 500 % 8, 100))
        print(f"step {step}: {float(loss):.4f}, {float(evaluate(weights, rows, (rows[:, :1] > 250))):.4f}", flush=True)
    step += 1
