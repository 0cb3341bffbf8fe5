import functools
import logging

import jax
import jax.numpy as jnp
import numpy as np

from state import TrainState, adam

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger(__name__)


def init_params(key, sizes=(12, 64, 64, 1)):
    keys = jax.random.split(key, len(sizes) - 1)
    return {
        f"layer{i}": {"w": jax.random.normal(k, (a, b)) * a**-0.5, "b": jnp.zeros((b,))}
        for i, (k, a, b) in enumerate(zip(keys, sizes[:-1], sizes[1:]))
    }


def apply(params, x):
    last = len(params) - 1
    for i in range(last + 1):
        layer = params[f"layer{i}"]
        x = x @ layer["w"] + layer["b"]
        x = jnp.tanh(x) if i < last else x
    return x[:, 0]


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(apply(params, x) - y))


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, x, y)
    return adam(state, grads), loss


eval_loss = jax.jit(loss_fn)


def friedman(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 12)).astype(np.float32)
    y = np.sin(np.pi * x[:, 0] * x[:, 1]) + 2 * (x[:, 2] - 0.5) ** 2 + x[:, 3] + 0.5 * x[:, 4]
    return x, (y + rng.normal(0, 0.2, n)).astype(np.float32)


def main(epochs=15, batch=64, patience=3):
    x, y = friedman(640, seed=0)
    x_val, y_val = friedman(160, seed=1)
    state = TrainState.create(init_params(jax.random.key(0)))
    rng = np.random.default_rng(5)
    best_loss, best_params, bad = np.inf, None, 0
    for epoch in range(epochs):
        for idx in np.split(rng.permutation(len(x)), len(x) // batch):
            state, _ = train_step(state, x[idx], y[idx])
        val = float(eval_loss(state.params, x_val, y_val))
        logger.info("epoch %d validation %.4f", epoch, val)
        if val < best_loss:
            best_loss, best_params, bad = val, state.params, 0
        else:
            bad += 1
            if bad >= patience:
                break
    final = float(eval_loss(best_params, x_val, y_val))
    logger.info("best validation %.4f (checked %.4f)", best_loss, final)


if __name__ == "__main__":
    main()
