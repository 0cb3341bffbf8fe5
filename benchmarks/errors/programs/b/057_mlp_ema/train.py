#!/usr/bin/env python3
"""MLP regression with an exponential moving average of the weights.

    python train.py --steps 200 --decay 0.98
"""
import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--decay", type=float, default=0.98)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--eval-every", type=int, default=50)
    return p.parse_args()


def init_params(sizes, key):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append((jax.random.normal(sub, (n_in, n_out)) * np.sqrt(2 / n_in), jnp.zeros(n_out)))
    return params


def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def mse(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


@functools.partial(jax.jit, static_argnums=(3,))
def sgd(params, x, y, lr):
    loss, grads = jax.value_and_grad(mse)(params, x, y)
    new = [(w - lr * dw, b - lr * db) for (w, b), (dw, db) in zip(params, grads)]
    return new, loss


def ema_update(average, params, decay):
    return jax.tree_map(lambda a, p: decay * a + (1 - decay) * p, average, params)


def main():
    args = parse()
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (1024, 2)).astype(np.float32)
    y = (np.sin(3 * x[:, :1]) * x[:, 1:]).astype(np.float32)
    x_val, y_val = x[-128:], y[-128:]

    params = init_params([2, 64, 64, 1], jax.random.PRNGKey(0))
    average = params
    for step in range(1, args.steps + 1):
        idx = rng.integers(0, 896, 64)
        params, loss = sgd(params, x[idx], y[idx], args.lr)
        if step > 20:
            average = ema_update(average, params, args.decay)
        if step % args.eval_every == 0:
            print(f"step {step} loss {loss:.4f} val {mse(params, x_val, y_val):.4f} "
                  f"ema {mse(average, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
