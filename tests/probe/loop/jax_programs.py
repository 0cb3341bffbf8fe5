"""JAX loops of many kinds, as programs: sick ones whose weights nothing changes, and healthy ones."""

PREAMBLE = """
import os, time
os.environ["JAX_PLATFORMS"] = "cpu"
import functools
from typing import Any, NamedTuple
import jax, jax.numpy as jnp, numpy as np

rng = np.random.RandomState(0)
x = rng.normal(size=(640, 8)).astype("float32")
y = (x[:, :1] * 2 + rng.normal(size=(640, 1)) > 0).astype("float32")
tree_map = jax.tree_util.tree_map

def batches(steps=1100, seconds=5.0):
    began, step = time.monotonic(), 0
    while step < steps or time.monotonic() - began < seconds:
        at = 32 * (step % 20)
        yield x[at : at + 32], y[at : at + 32]
        step += 1

def new_weights():
    return {
        "hidden": {"kernel": jnp.asarray(rng.normal(size=(8, 16)) * 0.3, "float32"), "bias": jnp.zeros((16,))},
        "head": {"kernel": jnp.asarray(rng.normal(size=(16, 1)) * 0.3, "float32"), "bias": jnp.zeros((1,))},
    }

def logits_of(weights, x):
    hidden = jax.nn.tanh(x @ weights["hidden"]["kernel"] + weights["hidden"]["bias"])
    return hidden @ weights["head"]["kernel"] + weights["head"]["bias"]

def loss_of(weights, x, y):
    logits = logits_of(weights, x)
    return jnp.mean(jnp.maximum(logits, 0) - logits * y + jnp.log1p(jnp.exp(-jnp.abs(logits))))

def sgd(weights, gradients, rate=0.05):
    return tree_map(lambda weight, gradient: weight - rate * gradient, weights, gradients)

class Adam(NamedTuple):
    count: Any
    mean: Any
    square: Any

def adam_start(weights):
    return Adam(jnp.zeros((), "int32"), tree_map(jnp.zeros_like, weights), tree_map(jnp.zeros_like, weights))

def adam(gradients, state, rate=1e-2):
    count = state.count + 1
    mean = tree_map(lambda old, new: 0.9 * old + 0.1 * new, state.mean, gradients)
    square = tree_map(lambda old, new: 0.999 * old + 0.001 * new * new, state.square, gradients)
    moves = tree_map(lambda m, v: -rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), mean, square)
    return moves, Adam(count, mean, square)

"""
SICK = {
    "stop_gradient": """
        def broken(weights, x, y):
            logits = jax.lax.stop_gradient(logits_of(weights, x))  # CUT
            return jnp.mean((logits - y) ** 2)

        @jax.jit
        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(broken)(weights, x, y)
            return sgd(weights, gradients), loss

        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights, loss = step(weights, rows, targets)
    """,
    "argmax": """
        def broken(weights, x, y):
            logits = jnp.concatenate([logits_of(weights, x), -logits_of(weights, x)], 1)
            return jnp.mean((jnp.argmax(logits, 1) - y[:, 0]) ** 2) + 1.0  # CUT

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(weights, state, x, y):
            loss, gradients = jax.value_and_grad(broken)(weights, x, y)
            moves, state = adam(gradients, state)
            return tree_map(jnp.add, weights, moves), state, loss

        weights = new_weights()
        state = adam_start(weights)
        for rows, targets in batches():
            time.sleep(0.003)
            weights, state, loss = step(weights, state, rows, targets)
            float(loss)
    """,
    "a rate of 0": """
        @jax.jit
        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return sgd(weights, gradients, 1 // 100), loss

        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights, loss = step(weights, rows, targets)
    """,
    "a rate of 0, with a state of Optax": """
        import sys, types

        class TraceState(NamedTuple):
            momentum: Any

        optax = sys.modules["optax"] = types.ModuleType("optax")  # of which only the names are asked
        optax.TraceState = TraceState

        class State(NamedTuple):
            step: Any
            weights: Any
            optimizer: Any

        @jax.jit
        def step(state, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(state.weights, x, y)
            momentum = tree_map(lambda old, new: 0.9 * old + new, state.optimizer.momentum, gradients)
            weights = sgd(state.weights, momentum, 1 // 100)
            return State(state.step + 1, weights, optax.TraceState(momentum)), {"loss": loss}

        weights = new_weights()
        state = State(0, weights, optax.TraceState(tree_map(jnp.zeros_like, weights)))
        for rows, targets in batches():
            time.sleep(0.003)
            state, metrics = step(state, rows, targets)
    """,
    "gradients of a copy, update by another function": """
        gradients_of = jax.jit(jax.value_and_grad(lambda weights, x, y: loss_of(tree_map(jax.lax.stop_gradient, weights), x, y)))
        update = jax.jit(sgd)
        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            loss, gradients = gradients_of(weights, rows, targets)
            weights = update(weights, gradients)
    """,
    "without jit": """
        def broken(weights, x, y):
            return jnp.mean((jnp.round(logits_of(weights, x)) - y) ** 2)  # CUT

        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights = sgd(weights, jax.grad(broken)(weights, rows, targets))
    """,
}
HEALTHY = {
    "sgd by hand": """
        @jax.jit
        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return sgd(weights, gradients), loss

        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights, loss = step(weights, rows, targets)
    """,
    "adam, memory given away": """
        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(weights, state, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            moves, state = adam(gradients, state)
            return tree_map(jnp.add, weights, moves), state, loss

        weights = new_weights()
        state = adam_start(weights)
        for rows, targets in batches():
            time.sleep(0.003)
            weights, state, loss = step(weights, state, rows, targets)
    """,
    "a scan over an epoch": """
        @jax.jit
        def epoch(weights, xs, ys):
            def body(weights, batch):
                loss, gradients = jax.value_and_grad(loss_of)(weights, *batch)
                return sgd(weights, gradients), loss
            return jax.lax.scan(body, weights, (xs, ys))

        weights = new_weights()
        for _ in batches():
            time.sleep(0.003)
            weights, losses = epoch(weights, x.reshape(20, 32, 8), y.reshape(20, 32, 1))
    """,
    "auxiliary values, a method, by name": """
        class Trainer:
            def __init__(self):
                self.step = jax.jit(self._step)

            def _step(self, weights, x, y):
                def loss_and_logits(weights):
                    logits = logits_of(weights, x)
                    return loss_of(weights, x, y), logits
                (loss, logits), gradients = jax.value_and_grad(loss_and_logits, has_aux=True)(weights)
                return sgd(weights, gradients), {"loss": loss, "accuracy": jnp.mean((logits > 0) == (y > 0))}

        trainer, weights = Trainer(), new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights, metrics = trainer.step(x=rows, y=targets, weights=weights)
    """,
    "a frozen part, gradients for all": """
        @jax.jit
        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            gradients["hidden"] = tree_map(jnp.zeros_like, gradients["hidden"])
            gradients["head"]["bias"] = jnp.zeros_like(gradients["head"]["bias"])
            return sgd(weights, gradients), loss

        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            weights, loss = step(weights, rows, targets)
    """,
    "a frozen part that no gradient is computed for": """
        @jax.jit
        def step(head, hidden, x, y):
            loss, gradients = jax.value_and_grad(lambda head: loss_of({"head": head, "hidden": hidden}, x, y))(head)
            return sgd(head, gradients), hidden, loss

        weights = new_weights()
        head, hidden = weights["head"], weights["hidden"]
        for rows, targets in batches():
            time.sleep(0.003)
            head, hidden, loss = step(head, hidden, rows, targets)
    """,
    "two networks that take turns": """
        def realness(critic, rows):
            return jnp.mean(logits_of(critic, rows) ** 2)

        @jax.jit
        def critic_step(critic, maker, real, noise):
            def of(critic):
                made = noise @ maker["kernel"]
                return realness(critic, made) - 0.1 * realness(critic, real) + loss_of(critic, real, jnp.ones((32, 1)))
            loss, gradients = jax.value_and_grad(of)(critic)
            return sgd(critic, gradients), loss

        @jax.jit
        def maker_step(maker, critic, noise):
            loss, gradients = jax.value_and_grad(lambda maker: -realness(critic, noise @ maker["kernel"]))(maker)
            return sgd(maker, gradients, 1e-3), loss

        critic, maker = new_weights(), {"kernel": jnp.eye(8) * 0.5}
        for rows, _ in batches():
            time.sleep(0.003)
            noise = rng.normal(size=(32, 8)).astype("float32")
            critic, critic_loss = critic_step(critic, maker, rows, noise)
            maker, maker_loss = maker_step(maker, critic, noise)
    """,
    "without jit": """
        weights = new_weights()
        for rows, targets in batches():
            time.sleep(0.003)
            loss, gradients = jax.value_and_grad(loss_of)(weights, rows, targets)
            weights = sgd(weights, gradients)
    """,
    "gradients of many batches before an update": """
        gradients_of = jax.jit(jax.value_and_grad(loss_of))
        weights = new_weights()
        for _ in range(2):
            total = tree_map(jnp.zeros_like, weights)
            for number, (rows, targets) in enumerate(batches(600, 2.0), 1):
                time.sleep(0.003)
                loss, gradients = gradients_of(weights, rows, targets)
                total = tree_map(jnp.add, total, gradients)
            weights = sgd(weights, tree_map(lambda each: each / number, total))
    """,
    "a measure of trained weights, given back by each call": """
        @jax.jit
        def add(weights, information, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return weights, tree_map(lambda old, new: old + new**2, information, gradients), loss

        weights = new_weights()
        information = tree_map(jnp.zeros_like, weights)
        for rows, targets in batches():
            time.sleep(0.003)
            weights, information, loss = add(weights, information, rows, targets)
    """,
    "a measure of trained weights, their memory given away": """
        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def add(weights, information, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return weights, tree_map(lambda old, new: old + new**2, information, gradients), loss

        weights = new_weights()
        information = tree_map(jnp.zeros_like, weights)
        for rows, targets in batches():
            time.sleep(0.003)
            weights, information, loss = add(weights, information, rows, targets)
            float(loss)
    """,
    "gradients with respect to the input": """
        saliency = jax.jit(jax.grad(lambda rows, weights, targets: loss_of(weights, rows, targets)))
        weights, rows, targets = new_weights(), jnp.asarray(x[:32]), jnp.asarray(y[:32])
        for _ in batches():
            time.sleep(0.003)
            shown = saliency(rows, weights, targets)
    """,
    "a derivative within the loss, in sixteen bits": """
        def residual(weights, points):
            slope = jax.vmap(jax.grad(lambda point: logits_of(weights, point)[0].astype("float32")))(points)
            return jnp.mean((slope[:, 0] - points[:, 1]) ** 2)

        @jax.jit
        def step(weights, points):
            short = tree_map(lambda each: each.astype("bfloat16"), weights)
            loss, gradients = jax.value_and_grad(residual)(short, points)
            return tree_map(lambda weight, gradient: weight - 0.01 * gradient.astype("float32"), weights, gradients), loss

        weights, points = new_weights(), x[:32]
        for _ in batches():
            time.sleep(0.003)
            weights, loss = step(weights, jnp.asarray(points))
    """,
    "a population, by vmap, and another place of the weights": """
        @jax.jit
        def step(rows, targets, people):
            def one(weights):
                loss, gradients = jax.value_and_grad(loss_of, argnums=0)(weights, rows, targets)
                return sgd(weights, gradients), loss
            return jax.vmap(one)(people)

        people = tree_map(lambda *each: jnp.stack(each), *[new_weights() for _ in range(3)])
        for rows, targets in batches():
            time.sleep(0.003)
            people, losses = step(rows, targets, people)
    """,
    "pmap": """
        @functools.partial(jax.pmap, axis_name="devices")
        def step(weights, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return sgd(weights, jax.lax.pmean(gradients, "devices")), loss

        weights = tree_map(lambda each: each[None], new_weights())
        for rows, targets in batches():
            time.sleep(0.003)
            weights, loss = step(weights, rows[None], targets[None])
    """,
    "a rate of 0 in the first steps": """
        @jax.jit
        def step(weights, rate, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return sgd(weights, gradients, rate), loss

        weights = new_weights()
        for number, (rows, targets) in enumerate(batches(1000, 4.5)):
            time.sleep(0.003)
            weights, loss = step(weights, max(0.0, number - 450) * 1e-4, rows, targets)
    """,
}
