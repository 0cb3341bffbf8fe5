# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 45
# near = "input_starved"
# needs = []
# ///
"""A loop in plain JAX whose batches a thread fetches ahead: the thread sleeps most of its time, and the step waits for none."""

import queue
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
features = rng.normal(size=(4096, 512)).astype("float32")
ahead: queue.Queue = queue.Queue(8)


def fetch():
    while True:
        chosen = rng.integers(0, len(features), 256)
        time.sleep(0.02)
        ahead.put((jax.device_put(features[chosen]), jax.device_put(features[chosen, :1])))


def loss_of(weights, batch, target):
    for weight in weights[:-1]:
        batch = jnp.tanh(batch @ weight)
    return jnp.mean((batch @ weights[-1] - target) ** 2)


@jax.jit
def train_step(weights, batch, target):
    loss, gradients = jax.value_and_grad(loss_of)(weights, batch, target)
    return [weight - 0.02 * gradient for weight, gradient in zip(weights, gradients)], loss


sizes = (512, 1024, 1024, 1024, 1)
weights = [jnp.asarray(rng.normal(size=shape) / shape[0] ** 0.5, "float32") for shape in zip(sizes, sizes[1:])]
threading.Thread(target=fetch, daemon=True).start()
end = time.monotonic() + 25
step = 0
while time.monotonic() < end:
    weights, loss = train_step(weights, *ahead.get())
    if step % 100 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    step += 1
