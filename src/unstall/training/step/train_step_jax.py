"""A training step on JAX: one compiled function of the state, which writes the new state where the old one lay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unstall.backends.devices import is_compiled_for_card
from unstall.detectors.layers.rng import Draw
from unstall.training.step.optimizer import scale_of
from unstall.training.step.program import Counts, Program, StepResult

if TYPE_CHECKING:
    from unstall.training.step.train_step import Arrays

State = dict[str, jax.Array]
NOTHING = np.zeros(0, np.float32)  # what a variable holds between two states


class Sums(NamedTuple):
    """Over the parts of a batch that are done."""

    losses: jax.Array
    gradients: State


def in_order_of_weights(gradients: Any) -> Any:
    """Laid out in memory as their weights. cuDNN gives a kernel's gradient in an order of its own; XLA then brings weights and
    momentum into that order, changes them there, brings them back, and copies both to where they lay: 140 copies in a step of
    RetinaNet."""
    if not is_compiled_for_card():
        return gradients
    try:
        from jax.experimental.layout import Layout, with_layout_constraint
    except ImportError:  # an older JAX calls it otherwise
        return gradients
    return jax.tree.map(lambda each: with_layout_constraint(each, Layout(tuple(range(each.ndim)))), gradients)


class JaxTrainStep:
    is_alone = True  # no other process computes a part of the batch

    def __init__(self, program: Program, state: Arrays) -> None:
        self.program = program
        self.state: State = {}  # what a step changes: it is given away to each step, which gives the next
        self.fixed: State = {}
        self.function = jax.jit(self._run, donate_argnums=0)
        self._changing = list(program.changing.items())
        self.is_in_pieces = program.micro_batches > 1 and jax.default_backend() == "cpu"
        self._counted, self._zero_sums = jax.jit(self._count), jax.jit(self._nothing)
        self._added = jax.jit(self._add, donate_argnums=0)
        self._finished = jax.jit(self._finish, donate_argnums=0)
        self.restore(state)

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> jax.Array:
        take = self._in_pieces if self.is_in_pieces else self.function
        self.state, result = take(self.state, self.fixed, batch, np.float32(rate), key)
        self._show("weights")
        return result

    def _in_pieces(self, state: State, fixed: State, batch: Arrays, rate: np.float32, key: np.ndarray) -> tuple[State, jax.Array]:
        """The same by a function for each part: inside of a loop XLA has no quick convolution for a CPU (jax-ml/jax#12868), and
        takes ten times as long."""
        size = self.program.micro_batch_size
        firsts = [np.int32(first) for first in range(0, size * self.program.micro_batches, size)]
        parts = [({name: each[first : first + size] for name, each in batch.items()}, first) for first in firsts]
        counts = sum(self._counted(state, fixed, *part, key) for part in parts)
        sums, statistics = self._zero_sums(state), self._statistics(state)
        for part in parts:
            sums, statistics = self._added(sums, statistics, state, fixed, *part, key, counts)
        return self._finished(state, sums, statistics, rate)  # type: ignore[no-any-return]

    def lowered(self, batch: dict[str, Any], sharding: Any = None) -> Any:
        """The step before it is compiled, for a batch of such shapes and kinds, on this device or (by its sharding) another."""
        given = self.state, self.fixed, batch, np.float32(0), np.zeros(2, np.int32)
        shapes = jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=sharding), given)
        return self.function.lower(*shapes)

    def arrays(self) -> Arrays:
        everything = {**self.state, **self.fixed}
        for array in everything.values():
            array.copy_to_host_async()
        # A copy: on a CPU NumPy would see the memory itself, which the next step writes to.
        return {name: np.array(self._own(array)) for name, array in everything.items()}

    def restore(self, arrays: Arrays) -> None:
        self._release()
        put = {name: self._put(np.asarray(array)) for name, array in arrays.items()}
        fixed = {f"weights/{name}" for name in self.program.fixed}
        self.state = {name: array for name, array in put.items() if name not in fixed}
        self.fixed = {name: array for name, array in put.items() if name in fixed}
        self._show_fixed()
        self._show("weights")

    def _put(self, array: np.ndarray) -> jax.Array:
        return jax.device_put(array, may_alias=False)

    def _own(self, array: jax.Array) -> jax.Array:
        """What of it lies on this process's device: all of it."""
        return array

    def _release(self) -> None:
        """The old state goes before the new one comes: beside each other they would leave a gap in the device's memory, as large
        as the weights and too small for a step to work in."""
        self.state, self.fixed = {}, {}
        for variable in (*self.program.changing.values(), *self.program.fixed.values()):
            variable._direct_assign(NOTHING)

    def averaged(self) -> AbstractContextManager[None]:
        return self._copied("average")

    def lent(self) -> AbstractContextManager[None]:
        return self._copied("weights")

    @contextmanager
    def _copied(self, kind: str) -> Iterator[None]:
        """Shown as copies: Keras gives the memory of variables away when it predicts, and the next step needs what lies there."""
        for name, variable in self._changing:
            variable._direct_assign(jnp.copy(self._own(self.state[f"{kind}/{name}"])))
        for name, variable in self.program.fixed.items():
            variable._direct_assign(jnp.copy(self._own(self.fixed[f"weights/{name}"])))
        try:
            yield
        finally:
            self._show("weights")
            self._show_fixed()

    def _show(self, kind: str) -> None:
        """Through the detector's variables. `assign` would look at each first, which takes longer than some steps."""
        for name, variable in self._changing:
            variable._direct_assign(self._own(self.state[f"{kind}/{name}"]))

    def _show_fixed(self) -> None:
        for name, variable in self.program.fixed.items():
            variable._direct_assign(self._own(self.fixed[f"weights/{name}"]))

    # --- what is compiled ---

    def _run(self, state: State, fixed: State, batch: State, rate: jax.Array, key: jax.Array) -> tuple[State, jax.Array]:
        program, statistics, place = self.program, self._statistics(state), self._place()
        if program.micro_batches == 1:
            counts = None if self.is_alone else self._of_all
            computed, gradients = self._differentiated(state, fixed, statistics, batch, Draw(key, place), counts)
            return self._finish(state, Sums(computed.losses, gradients), computed.statistics, rate)
        number, size = program.micro_batches, program.micro_batch_size
        parts = jax.tree.map(lambda each: each.reshape(number, size, *each.shape[1:]), batch)
        given = parts, place + jnp.arange(number, dtype="int32") * size

        def count(_: None, given: tuple[State, jax.Array]) -> tuple[None, jax.Array]:
            return None, self._count(state, fixed, *given, key)

        def add(so_far: tuple[Sums, State], given: tuple[State, jax.Array]) -> tuple[tuple[Sums, State], None]:
            return self._add(*so_far, state, fixed, *given, key, counts), None

        counts = self._of_all(jnp.sum(jax.lax.scan(count, None, given)[1], axis=0))
        (sums, statistics), _ = jax.lax.scan(add, (self._nothing(state), statistics), given)
        return self._finish(state, sums, statistics, rate)

    def _place(self) -> Any:
        """Of the first image of this process in the whole batch."""
        return 0

    def _of_all(self, counts: jax.Array) -> jax.Array:
        """The sum over all processes."""
        return counts

    def _together(self, sums: Sums, statistics: State) -> tuple[Sums, State]:
        """The sums of all processes, and the mean of what their norms have learned."""
        return sums, statistics

    def _count(self, state: State, fixed: State, part: State, first: jax.Array, key: jax.Array) -> jax.Array:
        return self.program.counts(self._values(state, fixed), part, Draw(key, first))

    def _nothing(self, state: State) -> Sums:
        weights = {name: state[f"weights/{name}"] for name in self.program.trained}
        return Sums(jnp.zeros(len(self.program.detector.loss_names)), jax.tree.map(jnp.zeros_like, weights))

    def _add(
        self, sums: Sums, statistics: State, state: State, fixed: State, part: State, first: jax.Array, key: jax.Array,
        counts: jax.Array,
    ) -> tuple[Sums, State]:  # fmt: skip
        """A part of the batch: its losses, shared by what the whole batch holds, and its gradients are added to those before."""
        computed, gradients = self._differentiated(state, fixed, statistics, part, Draw(key, first), counts)
        return jax.tree.map(jnp.add, sums, Sums(computed.losses, gradients)), computed.statistics

    def _finish(self, state: State, sums: Sums, statistics: State, rate: jax.Array) -> tuple[State, jax.Array]:
        sums, statistics = self._together(sums, statistics)
        return self.program.updated(state, sums.gradients, StepResult(sums.losses, statistics), rate)

    def _differentiated(
        self, state: State, fixed: State, statistics: State, part: State, draw: Draw, counts: Counts
    ) -> tuple[StepResult, State]:
        program = self.program
        values = {**self._values(state, fixed), **statistics}

        def losses(weights: State) -> tuple[jax.Array, StepResult]:
            return program.losses({**values, **weights}, part, draw, counts, scale_of(state, program.rules))

        weights = {name: values[name] for name in program.trained}
        (_, computed), gradients = jax.value_and_grad(losses, has_aux=True)(weights)
        return computed, in_order_of_weights(gradients)

    def _values(self, state: State, fixed: State) -> State:
        """Of the detector's variables."""
        everything = {**state, **fixed}
        return {name: everything[f"weights/{name}"] for name in self.program.variables}

    def _statistics(self, state: State) -> State:
        return {name: state[f"weights/{name}"] for name in self.program.statistics}
