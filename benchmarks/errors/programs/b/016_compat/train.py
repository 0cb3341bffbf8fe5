import jax
import jax.numpy as jnp
import numpy as np

from compat import config, scalar_type, trapezoid, tree_map

config.update("jax_enable_x64", False)
FLOAT = scalar_type("float")


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 40)
    rate = rng.uniform(0.5, 6, n)
    curves = np.exp(-rate[:, None] * t)
    area = trapezoid(curves, t, axis=1)
    noisy = curves + rng.normal(0, 0.01, curves.shape)
    return noisy.astype(np.float32), area.astype(np.float32)


def init(key):
    a, b = jax.random.split(key)
    return {"w1": 0.2 * jax.random.normal(a, (40, 16)), "w2": 0.2 * jax.random.normal(b, (16,))}


def loss_fn(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)


@jax.jit
def step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return tree_map(lambda p, g: p - 0.05 * g, params, grads), loss


def main():
    x, y = simulate(512, seed=0)
    params = init(jax.random.key(0))
    for epoch in range(10):
        for i in range(0, len(x), 64):
            params, loss = step(params, x[i : i + 64], y[i : i + 64])
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {FLOAT(loss):.5f}")


if __name__ == "__main__":
    main()
