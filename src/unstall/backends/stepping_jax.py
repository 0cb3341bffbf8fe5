"""A training step on JAX: one compiled function of the state, which writes the new state where the old one lay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from unstall.detectors.parts.chance import Draw
from unstall.training.program import Computed, Program
from unstall.training.update import scale_of

if TYPE_CHECKING:
    from unstall.backends.stepping import Arrays

State = dict[str, jax.Array]


class JaxStepping:
    def __init__(self, program: Program, state: Arrays) -> None:
        self.program = program
        self.state: State = {}  # what a step changes: it is given away to each step, which gives the next
        self.fixed: State = {}
        self.function = jax.jit(self._run, donate_argnums=0)
        self._changing = list(program.changing.items())
        self.restore(state)

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> jax.Array:
        self.state, told = self.function(self.state, self.fixed, batch, np.float32(rate), key)
        self._show("weights")
        return told

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
        return {name: np.array(array) for name, array in everything.items()}

    def restore(self, arrays: Arrays) -> None:
        put = {name: jax.device_put(np.asarray(array), may_alias=False) for name, array in arrays.items()}
        fixed = {f"weights/{name}" for name in self.program.fixed}
        self.state = {name: array for name, array in put.items() if name not in fixed}
        self.fixed = {name: array for name, array in put.items() if name in fixed}
        for name, variable in self.program.fixed.items():
            variable._direct_assign(self.fixed[f"weights/{name}"])
        self._show("weights")

    def averaged(self) -> AbstractContextManager[None]:
        return self._copied("average")

    def lent(self) -> AbstractContextManager[None]:
        return self._copied("weights")

    @contextmanager
    def _copied(self, kind: str) -> Iterator[None]:
        """Shown as copies: Keras gives the memory of variables away when it predicts, and the next step needs what lies there."""
        for name, variable in self._changing:
            variable._direct_assign(jnp.copy(self.state[f"{kind}/{name}"]))
        for name, variable in self.program.fixed.items():
            variable._direct_assign(jnp.copy(self.fixed[f"weights/{name}"]))
        try:
            yield
        finally:
            self._show("weights")
            for name, variable in self.program.fixed.items():
                variable._direct_assign(self.fixed[f"weights/{name}"])

    def _show(self, kind: str) -> None:
        """Through the detector's variables. `assign` would look at each first, which takes longer than some steps."""
        for name, variable in self._changing:
            variable._direct_assign(self.state[f"{kind}/{name}"])

    def _run(self, state: State, fixed: State, batch: State, rate: jax.Array, key: jax.Array) -> tuple[State, jax.Array]:
        program = self.program
        weights, statistics, others = (
            {name: found[f"weights/{name}"] for name in names}
            for names, found in ((program.trained, state), (program.statistics, state), (program.fixed, fixed))
        )

        def losses(weights: State, statistics: State, part: State, draw: Draw, counts: Any) -> tuple[jax.Array, Computed]:
            return program.losses({**weights, **statistics, **others}, part, draw, counts, scale_of(state, program.rules))

        def counted(part: State, draw: Draw) -> jax.Array:
            return program.counts({**weights, **statistics, **others}, part, draw)

        differentiated = jax.value_and_grad(losses, has_aux=True)
        if program.micro_batches == 1:
            (_, computed), gradients = differentiated(weights, statistics, batch, Draw(key), None)
        else:
            computed, gradients = self._in_parts(differentiated, counted, weights, statistics, batch, key)
        return program.updated(state, gradients, computed, rate)

    def _in_parts(
        self, differentiated: Any, counted: Any, weights: State, statistics: State, batch: State, key: jax.Array
    ) -> tuple[Computed, State]:
        """One part of the batch after the other, its losses shared by what the whole batch holds, and gradients summed up."""
        number, size = self.program.micro_batches, self.program.micro_batch
        parts = jax.tree.map(lambda each: each.reshape(number, size, *each.shape[1:]), batch)
        given = parts, jnp.arange(number, dtype="int32") * size

        def count(_: None, given: tuple[State, jax.Array]) -> tuple[None, jax.Array]:
            part, first = given
            return None, counted(part, Draw(key, first))

        def add(so_far: tuple[Computed, State], given: tuple[State, jax.Array]) -> tuple[tuple[Computed, State], None]:
            part, first = given
            before, gradients = so_far
            (_, computed), more = differentiated(weights, before.statistics, part, Draw(key, first), counts)
            sums = Computed(before.losses + computed.losses, computed.statistics)
            return (sums, jax.tree.map(jnp.add, gradients, more)), None

        counts = jnp.sum(jax.lax.scan(count, None, given)[1], axis=0)
        nothing = Computed(jnp.zeros_like(counts), statistics), jax.tree.map(jnp.zeros_like, weights)
        (computed, gradients), _ = jax.lax.scan(add, nothing, given)
        return computed, gradients
