"""What the probe sees of a JAX loop, in real programs: steps, losses, compilations; and what is no step."""

import sys
from pathlib import Path

import pytest

from tests.probe.watched_programs import facts, line, watch
from tests.programs import run_bare, run_watched, write
from unstall.journal.events import FitBegan, FrameworkLoaded, FunctionTraced, SignalsSeen, StepsEnded
from unstall.journal.reader import Journal

JAX = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np

rng = np.random.RandomState(0)
x = rng.normal(size=(640, 8)).astype("float32")
y = x[:, :1] * 2
weights = {"kernel": jnp.zeros((8, 1)), "bias": jnp.zeros((1,)), "scale": jnp.float32(70.0)}

def loss_of(weights, x, y):
    return jnp.mean((x @ weights["kernel"] + weights["bias"] - y) ** 2) + 5.0

def moved(weights, gradients):
    return jax.tree_util.tree_map(lambda weight, gradient: weight - 0.05 * gradient, weights, gradients)

def batches():
    return [(x[at : at + 32], y[at : at + 32]) for at in range(0, 640, 32)]
"""


def watch_jax(source: str, folder: Path, home: Path) -> Journal:
    return watch(source, folder, home, preamble=JAX)


def steps(journal: Journal) -> int:
    return sum(group.last - group.first + 1 for group in journal.of(StepsEnded) if group.phase == "train")


def losses(journal: Journal) -> list[float]:
    return [group.loss for group in journal.of(StepsEnded) if group.loss is not None]


@pytest.mark.jax
def test_steps_and_losses_of_a_jitted_step(tmp_path: Path, own_home: Path) -> None:
    journal = watch_jax(
        """
        @jax.jit
        def step(weights, count, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            accuracy = jnp.float32(0.5) + 0 * loss
            return moved(weights, gradients), count + 1.0, accuracy, loss

        @jax.jit
        def evaluate(weights):
            return loss_of(weights, x, y)

        count = jnp.float32(0.0)
        for epoch in range(3):
            for rows, targets in batches():
                weights, count, accuracy, loss = step(weights, count, rows, targets)  # STEP
                loss.block_until_ready()
            evaluate(weights)
        """,
        tmp_path,
        own_home,
    )
    (fit,) = journal.of(FitBegan)
    assert (fit.api, fit.backend, fit.where) == ("own_loop", "jax", line(tmp_path, "STEP"))
    assert steps(journal) == 60
    seen = losses(journal)
    assert seen and all(5.0 <= loss < 10.0 for loss in seen), "neither the scale, nor the count, nor the accuracy"
    assert {"steps", "loss"} <= set(journal.of(SignalsSeen)[-1].seen)
    assert not facts(journal, "turns")


@pytest.mark.jax
@pytest.mark.parametrize(
    ("program", "count"),
    [
        pytest.param(
            """
            for rows, targets in batches():
                gradients = jax.grad(loss_of)(weights, rows, targets)
                weights = moved(weights, gradients)
            """,
            20,
            id="without jit",
        ),
        pytest.param(
            """
            gradients_of = jax.jit(jax.value_and_grad(loss_of))
            predict = jax.jit(jax.vmap(lambda row: row @ weights["kernel"]))
            update = jax.jit(moved)
            for rows, targets in batches():
                loss, gradients = gradients_of(weights, rows, targets)
                weights = update(weights, gradients)
                predict(rows)
            """,
            20,
            id="gradients and update apart",
        ),
        pytest.param(
            """
            @jax.jit
            def epoch(weights, rows, targets):
                def body(weights, batch):
                    loss, gradients = jax.value_and_grad(loss_of)(weights, *batch)
                    return moved(weights, gradients), loss
                return jax.lax.scan(body, weights, (rows, targets))

            for _ in range(7):
                weights, found = epoch(weights, x.reshape(20, 32, 8), y.reshape(20, 32, 1))
            """,
            7,
            id="a scan",
        ),
        pytest.param(
            """
            class Trainer:
                def __init__(self):
                    self.step = jax.jit(self._step, donate_argnums=0)

                def _step(self, weights, rows, targets):
                    gradients = jax.grad(loss_of)(weights, rows, targets)
                    return moved(weights, gradients), jnp.sum(rows)

            trainer = Trainer()
            for rows, targets in batches():
                weights, _ = trainer.step(weights, rows, targets)
            """,
            20,
            id="a method, and memory that is given away",
        ),
        pytest.param(
            """
            @jax.jit
            def step(weights, rows, targets):
                loss, gradients = jax.value_and_grad(loss_of)(weights, rows, targets)
                return moved(weights, gradients), loss

            for number, (rows, targets) in enumerate(batches()):
                if number == 5:
                    jax.config.update("jax_debug_nans", True)
                if number == 10:
                    jax.config.update("jax_debug_nans", False)
                if number == 15:
                    with jax.debug_nans(True):
                        weights, loss = step(weights, rows, targets)
                else:
                    weights, loss = step(weights, rows, targets)
            """,
            20,
            id="a check that is switched on and off",
        ),
    ],
)
def test_the_steps_of_other_loops(program: str, count: int, tmp_path: Path, own_home: Path) -> None:
    assert steps(watch_jax(program, tmp_path, own_home)) == count


@pytest.mark.jax
def test_a_loss_that_is_not_finite_is_told_with_its_step(tmp_path: Path, own_home: Path) -> None:
    journal = watch_jax(
        """
        @jax.jit
        def step(weights, rows, targets):
            loss, gradients = jax.value_and_grad(loss_of)(weights, rows, targets)
            return moved(weights, gradients), {"norm": jnp.float32(1.0), "loss": loss}

        for number, (rows, targets) in enumerate(batches()):
            if number == 13:
                rows = rows * np.nan
            weights, metrics = step(weights, rows, targets)
            jax.block_until_ready(metrics)
        """,
        tmp_path,
        own_home,
    )
    (broken,) = facts(journal, "not_finite")
    assert (broken["step"], broken["value"]) == (13, "nan")


@pytest.mark.jax
def test_each_trace_of_a_step_is_told_with_what_changed(tmp_path: Path, own_home: Path) -> None:
    journal = watch_jax(
        """
        import functools

        @functools.partial(jax.jit, static_argnames="rate")
        def step(weights, rows, targets, rate):  # DEFINED
            loss, gradients = jax.value_and_grad(loss_of)(weights, rows, targets)
            return weights, loss * rate

        import time

        step.lower(weights, x[:1], y[:1], rate=0.1)
        time.sleep(3)
        for number in range(1, 31):
            step(weights, x[:number], y[:number], rate=0.1)
        """,
        tmp_path,
        own_home,
    )
    traced = [event for event in journal.of(FunctionTraced) if event.function == "step"]
    assert [event.count for event in traced[:3]] == [1, 2, 3]
    spent_s = journal.of(FitBegan)[0].at - journal.of(FrameworkLoaded)[0].at
    assert 0 < traced[0].seconds <= spent_s - 3, "the time between tracing and the call is not spent on either"
    assert traced[2].where == line(tmp_path, "DEFINED") and traced[2].why == "shape of rows"
    assert traced[2].calls == 3
    assert steps(journal) == 30


@pytest.mark.jax
def test_what_jit_gives_and_what_is_printed_of_an_error_stay_the_same(tmp_path: Path, own_home: Path) -> None:
    program = write(
        tmp_path,
        JAX
        + """
import pickle, traceback

@jax.jit
def step(weights, rows):
    loss, gradients = jax.value_and_grad(loss_of)(weights, rows, y)
    return gradients, loss

print(type(step), type(jax.grad(loss_of)), step.lower(weights, x).as_text())
print(jax.make_jaxpr(step)(weights, x))
for wrong in (lambda: step(weights, x[:, :3]), lambda: jax.grad(lambda x: x * 2)(x), lambda: jax.grad(loss_of)(weights, x, y[:3])):
    try:
        wrong()
    except Exception:
        traceback.print_exc()
print(step(weights, x)[1], step(weights, x)[1], step._cache_size())
with jax.debug_nans(True):
    step(weights, x * np.nan)
""",
    )
    assert sys.version_info >= (3, 11), "before, frames of ours stay where the program itself catches an error"
    assert run_watched(program) == run_bare(program)
