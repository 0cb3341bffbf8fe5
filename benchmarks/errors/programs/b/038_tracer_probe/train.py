"""Lets users plug in a penalty written in plain Python or in JAX."""
import jax
import jax.numpy as jnp
import numpy as np


def ridge(w):
    return 0.01 * jnp.sum(w**2)


def capped(w):
    size = jnp.sum(jnp.abs(w))
    if size > 4.0:
        return 0.1 * size
    return 0.0 * size


def with_numpy(w):
    return 0.01 * float(np.linalg.norm(np.asarray(w)))


def traceable(fn, example):
    try:
        jax.eval_shape(fn, example)
    except jax.errors.TracerBoolConversionError:
        return False, "branches on a value"
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as err:
        return False, f"leaves JAX ({type(err).__name__})"
    return True, "ok"


def make_step(penalty, jit):
    def loss_fn(w, x, y):
        return jnp.mean((x @ w - y) ** 2) + penalty(w)

    def step(w, x, y):
        loss, grad = jax.value_and_grad(loss_fn)(w, x, y)
        return w - 0.05 * grad, loss

    return jax.jit(step) if jit else step


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 6)).astype(np.float32)
    y = x @ np.array([2, 0, -1, 0, 0, 3], np.float32)
    for penalty in (ridge, capped, with_numpy):
        ok, why = traceable(penalty, jnp.zeros(6))
        print(f"{penalty.__name__}: {why}")
        step = make_step(penalty, jit=ok)
        w = jnp.zeros(6)
        try:
            for _ in range(30):
                w, loss = step(w, x, y)
        except jax.errors.TracerArrayConversionError:
            print("  cannot be differentiated, training without it")
            step = make_step(lambda w: 0.0, jit=True)
            for _ in range(30):
                w, loss = step(w, x, y)
        print(f"  loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
