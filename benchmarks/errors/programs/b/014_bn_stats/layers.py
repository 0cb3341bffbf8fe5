import jax
import jax.numpy as jnp


class BatchNorm:
    def __init__(self, width, momentum=0.9, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.mean = jnp.zeros(width)
        self.var = jnp.ones(width)

    def __call__(self, params, x, train):
        if train:
            mean, var = x.mean(0), x.var(0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * mean
            self.var = self.momentum * self.var + (1 - self.momentum) * var
        else:
            mean, var = self.mean, self.var
        return params["scale"] * (x - mean) / jnp.sqrt(var + self.eps) + params["shift"]

    def init(self):
        return {"scale": jnp.ones_like(self.mean), "shift": jnp.zeros_like(self.mean)}


class Dense:
    def __init__(self, n_in, n_out):
        self.n_in, self.n_out = n_in, n_out

    def init(self, key):
        w = jax.random.normal(key, (self.n_in, self.n_out)) * (2 / self.n_in) ** 0.5
        return {"w": w, "b": jnp.zeros(self.n_out)}

    def __call__(self, params, x):
        return x @ params["w"] + params["b"]
