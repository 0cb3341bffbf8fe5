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
"""A generator and a discriminator take turns in plain JAX; the loss of the one rises as that of the other falls. Afterwards the program
draws for a while, without JAX."""

import time

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)


def layers(*sizes):
    return [jnp.asarray(rng.normal(size=shape) / shape[0] ** 0.5, "float32") for shape in zip(sizes, sizes[1:])]


def apply(weights, rows):
    for weight in weights[:-1]:
        rows = jax.nn.relu(rows @ weight)
    return rows @ weights[-1]


def moved(weights, gradients):
    return [weight - 0.02 * gradient for weight, gradient in zip(weights, gradients)]


def judged(critic, maker, noise, rows):
    return jnp.mean(jax.nn.softplus(-apply(critic, rows))) + jnp.mean(jax.nn.softplus(apply(critic, apply(maker, noise))))


@jax.jit
def train_critic(critic, maker, noise, rows):
    loss, gradients = jax.value_and_grad(judged)(critic, maker, noise, rows)
    return moved(critic, gradients), loss


@jax.jit
def train_maker(maker, critic, noise):
    fooled = lambda maker: jnp.mean(jax.nn.softplus(-apply(critic, apply(maker, noise))))  # noqa: E731
    loss, gradients = jax.value_and_grad(fooled)(maker)
    return moved(maker, gradients), loss


maker, critic = layers(8, 64, 2), layers(2, 64, 1)
end = time.monotonic() + 18
step = 0
while time.monotonic() < end:
    angle = rng.uniform(0, 2 * np.pi, (64, 1))
    rows = np.concatenate([np.cos(angle), np.sin(angle)], 1).astype("float32")
    noise = rng.normal(size=(64, 8)).astype("float32")
    critic, critic_loss = train_critic(critic, maker, noise, rows)
    maker, maker_loss = train_maker(maker, critic, noise)
    if step % 2000 == 0:
        print(f"step {step}: {float(critic_loss):.3f} {float(maker_loss):.3f}", flush=True)
    step += 1
drawn = np.asarray(apply(maker, rng.normal(size=(500, 8)).astype("float32")))
end = time.monotonic() + 12
while time.monotonic() < end:
    np.linalg.svd(drawn @ drawn.T)
print("drawn", bool(np.isfinite(drawn).all()))
