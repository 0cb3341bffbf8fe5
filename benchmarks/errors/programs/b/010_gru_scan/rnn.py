import jax
import jax.numpy as jnp


def init_gru(key, n_in, hidden, n_out):
    k = jax.random.split(key, 3)
    scale = hidden**-0.5
    return {
        "wx": scale * jax.random.normal(k[0], (n_in, 3 * hidden)),
        "wh": scale * jax.random.normal(k[1], (hidden, 3 * hidden)),
        "b": jnp.zeros(3 * hidden),
        "out": scale * jax.random.normal(k[2], (hidden, n_out)),
    }


def gru_cell(params, h, x):
    gx = x @ params["wx"] + params["b"]
    gh = h @ params["wh"]
    rx, zx, nx = jnp.split(gx, 3, axis=-1)
    rh, zh, nh = jnp.split(gh, 3, axis=-1)
    r = jax.nn.sigmoid(rx + rh)
    z = jax.nn.sigmoid(zx + zh)
    n = jnp.tanh(nx + r * nh)
    return (1 - z) * n + z * h


def run_gru(params, xs):
    """xs: (time, batch, features) -> predictions (time, batch, outputs)"""
    hidden = params["wh"].shape[0]
    h0 = jnp.zeros((hidden,))

    def step(h, x):
        h = gru_cell(params, h, x)
        return h, h @ params["out"]

    _, ys = jax.lax.scan(step, h0, xs)
    return ys
