"""Next-step prediction of a damped oscillator with a GRU (plain JAX)."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from rnn import init_gru, run_gru


def trajectories(n, steps, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(steps + 1) * 0.1
    amp, freq, damp = rng.uniform(0.5, 2, n), rng.uniform(1, 4, n), rng.uniform(0.01, 0.2, n)
    wave = amp * np.exp(-damp * t[:, None]) * np.sin(freq * t[:, None])
    return wave.astype(np.float32)[..., None]


def loss_fn(params, seq):
    pred = run_gru(params, seq[:-1])
    return jnp.mean((pred - seq[1:]) ** 2)


@partial(jax.jit, static_argnames="lr")
def update(params, velocity, seq, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, seq)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - lr * v, params, velocity)
    return params, velocity, loss


def batches(data, size, rng):
    order = rng.permutation(data.shape[1])
    for i in range(0, len(order) - size + 1, size):
        yield data[:, order[i : i + size]]


def main():
    train, valid = trajectories(256, 60, seed=0), trajectories(64, 60, seed=1)
    params = init_gru(jax.random.key(7), n_in=1, hidden=24, n_out=1)
    velocity = jax.tree.map(jnp.zeros_like, params)
    rng = np.random.default_rng(2)
    for epoch in range(5):
        for seq in batches(train, 32, rng):
            params, velocity, loss = update(params, velocity, seq, lr=0.02)
        print(f"epoch {epoch} train {loss:.5f} valid {loss_fn(params, valid):.5f}")


if __name__ == "__main__":
    main()
