"""DP-SGD on tabular data: clip every example's gradient, add noise, average."""
import jax
import jax.numpy as jnp
import numpy as np

CLIP = 1.0
NOISE = 0.3


def make_table(n=512, d=8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y = (x @ rng.normal(size=d) > 0).astype(np.float32)
    return x, y


def init(key, d, hidden=32):
    k1, k2 = jax.random.split(key)
    return {
        "w1": jax.random.normal(k1, (d, hidden)) / np.sqrt(d),
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(k2, (hidden,)) / np.sqrt(hidden),
        "b2": jnp.zeros(()),
    }


def example_loss(params, x, y):
    h = jnp.tanh(x @ params["w1"] + params["b1"])
    logit = h @ params["w2"] + params["b2"]
    return jnp.logaddexp(0.0, logit) - y * logit


per_example_grads = jax.vmap(jax.grad(example_loss))


def clip(tree):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(tree)))
    scale = jnp.minimum(1.0, CLIP / (norm + 1e-6))
    return jax.tree.map(lambda g: g * scale, tree)


@jax.jit
def private_step(params, key, x, y, lr=0.2):
    grads = jax.vmap(clip)(per_example_grads(params, x, y))
    leaves, treedef = jax.tree.flatten(grads)
    keys = jax.random.split(key, len(leaves))
    noisy = [
        g.mean(0) + CLIP * NOISE / x.shape[0] * jax.random.normal(k, g.shape[1:])
        for g, k in zip(leaves, keys)
    ]
    return jax.tree.map(lambda p, g: p - lr * g, params, treedef.unflatten(noisy))


@jax.jit
def mean_loss(params, x, y):
    return jax.vmap(example_loss, in_axes=(None, 0, 0))(params, x, y).mean()


def main():
    x, y = make_table()
    key = jax.random.key(0)
    params = init(key, x.shape[1])
    batch = 64
    for epoch in range(5):
        key, order_key = jax.random.split(key)
        order = np.asarray(jax.random.permutation(order_key, len(x)))
        for start in range(0, len(x), batch):
            idx = order[start : start + batch]
            key, sub = jax.random.split(key)
            params = private_step(params, sub, x[idx], y[idx])
        print(f"epoch {epoch} loss {mean_loss(params, x, y):.4f}")


if __name__ == "__main__":
    main()
