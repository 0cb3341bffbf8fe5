from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class TrainState(NamedTuple):
    params: Any
    mu: Any
    nu: Any
    count: jax.Array

    @classmethod
    def create(cls, params):
        zeros = lambda: jax.tree.map(jnp.zeros_like, params)
        return cls(params, zeros(), zeros(), jnp.zeros((), jnp.int32))


def adam(state, grads, lr=3e-3, b1=0.9, b2=0.999, eps=1e-8):
    count = state.count + 1
    mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, grads)
    nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state.nu, grads)
    c1, c2 = 1 - b1**count, 1 - b2**count
    params = jax.tree.map(
        lambda p, m, v: p - lr * (m / c1) / (jnp.sqrt(v / c2) + eps), state.params, mu, nu
    )
    return TrainState(params, mu, nu, count)
