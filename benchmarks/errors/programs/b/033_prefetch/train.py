import time

import jax
import jax.numpy as jnp
import numpy as np

from prefetch import Prefetcher


class SensorOffline(ConnectionError):
    pass


def sensor(n, seed, fails_at=None):
    rng = np.random.default_rng(seed)
    for i in range(n):
        if i % 10 == 0:
            time.sleep(0.03)
        if i == fails_at:
            raise SensorOffline(f"no signal from sensor {seed} after {i} readings")
        x = rng.normal(size=(16, 4)).astype(np.float32)
        yield x, np.sin(x[:, 0]) + x[:, 1]


def init(key):
    a, b = jax.random.split(key)
    return 0.5 * jax.random.normal(a, (4, 24)), 0.3 * jax.random.normal(b, (24,))


def loss_fn(params, x, y):
    return jnp.mean((jnp.tanh(x @ params[0]) @ params[1] - y) ** 2)


@jax.jit
def update(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


def main():
    params = init(jax.random.key(0))
    offline = []
    for seed in range(4):
        used = 0
        try:
            for x, y in Prefetcher(sensor(40, seed, fails_at=25 if seed % 2 else None)):
                params, loss = update(params, x, y)
                used += 1
        except SensorOffline as err:
            offline.append(seed)
            print("warning:", err)
        print(f"sensor {seed}: {used} batches, loss {float(loss):.4f}")
    print("offline:", offline)


if __name__ == "__main__":
    main()
