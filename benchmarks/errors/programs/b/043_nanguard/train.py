import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_debug_nans", True)


class Diverged(ArithmeticError):
    pass


def loss_fn(params, x, y):
    rate = x @ params["w"] + params["b"]
    return jnp.mean(jnp.exp(rate) - y * rate)


@jax.jit
def step(params, x, y, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss


def counts(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    return x, rng.poisson(np.exp(x @ [0.5, -0.3, 0.8] + 1)).astype(np.float32)


def attempt(x, y, lr, epochs=8):
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    for epoch in range(epochs):
        for i in range(0, len(x), 50):
            try:
                params, loss = step(params, x[i : i + 50], y[i : i + 50], lr)
            except FloatingPointError as err:
                raise Diverged(f"epoch {epoch}, lr {lr}") from err
            if not np.isfinite(float(loss)):
                raise Diverged(f"epoch {epoch}, lr {lr}: loss is {float(loss)}")
    return params, float(loss)


def main():
    x, y = counts(500, seed=0)
    lr = 10.0
    while lr > 1e-4:
        try:
            params, loss = attempt(x, y, lr)
        except Diverged as err:
            print("diverged:", err, "| cause:", type(err.__cause__).__name__)
            lr /= 10
        else:
            print(f"lr {lr}: loss {loss:.4f}, w {np.asarray(params['w']).round(2)}")
            break


if __name__ == "__main__":
    main()
