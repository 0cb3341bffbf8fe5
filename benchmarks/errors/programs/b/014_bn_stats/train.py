import jax
import jax.numpy as jnp
import numpy as np

from layers import BatchNorm, Dense


class Classifier:
    def __init__(self, n_in, width, n_classes):
        self.fc1, self.norm, self.fc2 = Dense(n_in, width), BatchNorm(width), Dense(width, n_classes)

    def init(self, key):
        k1, k2 = jax.random.split(key)
        return {"fc1": self.fc1.init(k1), "norm": self.norm.init(), "fc2": self.fc2.init(k2)}

    def __call__(self, params, x, train):
        h = self.fc1(params["fc1"], x)
        h = jax.nn.relu(self.norm(params["norm"], h, train))
        return self.fc2(params["fc2"], h)


def spirals(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    r = rng.uniform(0.1, 1, n)
    angle = 4 * r + y * 2 * np.pi / 3 + rng.normal(0, 0.1, n)
    return np.stack([r * np.cos(angle), r * np.sin(angle)], 1).astype(np.float32), y


model = Classifier(2, 32, 3)


@jax.jit
def train_step(params, x, y):
    def loss_fn(p):
        logp = jax.nn.log_softmax(model(p, x, train=True))
        return -jnp.take_along_axis(logp, y[:, None], axis=1).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def evaluate(params, x, y):
    logits = model(params, x, train=False)
    return float((logits.argmax(1) == y).mean())


def main():
    x, y = spirals(480, seed=0)
    xv, yv = spirals(120, seed=1)
    params = model.init(jax.random.key(0))
    for epoch in range(10):
        for i in range(0, len(x), 48):
            params, loss = train_step(params, x[i : i + 48], y[i : i + 48])
        print(f"epoch {epoch}: loss {loss:.3f}, valid acc {evaluate(params, xv, yv):.3f}")


main()
