# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 45
# near = "learning_rate_too_high"
# needs = []
# ///
"""Molecules that move by their forces, the gradient of an energy: nothing is trained, and the energy rises, falls and jumps."""

import time

import jax
import jax.numpy as jnp
import numpy as np

STEP_S = 0.001


def energy(places):
    apart = jnp.sum((places[:, None] - places[None]) ** 2, axis=-1) + jnp.eye(len(places))
    return 2 * jnp.sum(jnp.triu(apart**-6.0 - apart**-3.0, 1)) + 0.01 * jnp.sum(places**2)


@jax.jit
def move(places, speeds):
    found, gradient = jax.value_and_grad(energy)(places)
    speeds = speeds - STEP_S / 2 * gradient
    places = places + STEP_S * speeds
    speeds = speeds - STEP_S / 2 * jax.grad(energy)(places)
    return places, speeds, found


rng = np.random.default_rng(0)
places = jnp.asarray(np.stack(np.meshgrid(*[np.arange(5) * 1.2] * 3), -1).reshape(-1, 3), "float32")
speeds = jnp.asarray(rng.normal(size=places.shape), "float32")
end = time.monotonic() + 25
step = 0
while time.monotonic() < end:
    places, speeds, found = move(places, speeds)
    if step % 4000 == 3999:
        print(f"step {step}: energy {float(found):.1f}", flush=True)
        speeds = jnp.clip(speeds * 2.0, -3.0, 3.0)  # heated
    step += 1
