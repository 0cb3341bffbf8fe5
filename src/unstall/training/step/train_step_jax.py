"""A training step on JAX: one compiled function of the state, which writes the new state where the old one lay."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from unstall.backends.devices import is_compiled_for_card
from unstall.detectors.layers.rng import Draw
from unstall.training.step.optimizer import get_scale
from unstall.training.step.step import Counts, Program, StepResult

if TYPE_CHECKING:
    from unstall.training.step.step import Arrays

State = dict[str, jax.Array]
NOTHING = np.zeros(0, np.float32)  # what a variable holds between two states


class Sums(NamedTuple):
    """Over the parts of a batch that are done."""

    losses: jax.Array
    gradients: State


def sort_by_weights(gradients: Any) -> Any:
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

    def lower(self, batch: dict[str, Any], sharding: Any = None) -> Any:
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

    def get_ema_weights(self) -> AbstractContextManager[None]:
        return self._copied("average")

    def lend_weights(self) -> AbstractContextManager[None]:
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
            return program.losses({**values, **weights}, part, draw, counts, get_scale(state, program.rules))

        weights = {name: values[name] for name in program.trained}
        (_, computed), gradients = jax.value_and_grad(losses, has_aux=True)(weights)
        return computed, sort_by_weights(gradients)

    def _values(self, state: State, fixed: State) -> State:
        """Of the detector's variables."""
        everything = {**state, **fixed}
        return {name: everything[f"weights/{name}"] for name in self.program.variables}

    def _statistics(self, state: State) -> State:
        return {name: state[f"weights/{name}"] for name in self.program.statistics}


# --- several processes ---


AXIS = "batch"  # as keras.distribution.DataParallel calls it
EVERYWHERE, BY_WORKER = PartitionSpec(), PartitionSpec(AXIS)
NUM_REQUESTS = 2  # that can go with a step


class DistributedJaxTrainStep(JaxTrainStep):
    """A step that several processes make together: one program on all of them, each with its part of the batch.

    The state is the same on all. What a loss is shared by, and gradients, are summed over all before anybody uses them, and
    what is drawn hangs on an image's place in the whole batch: so the update is that of one process with all images. Norms that
    learn see the part of their own process; their statistics are averaged. A wish of any process goes with the step, and all
    hear of it at the same step: what one of them would do by itself would leave the others waiting.
    """

    is_alone = False

    def __init__(self, program: Program, state: Arrays) -> None:
        mesh = keras.distribution.DataParallel(devices=_one_of_each_process(), auto_shard_dataset=False).device_mesh.backend_mesh
        self._mesh, self._same, self._parted = mesh, NamedSharding(mesh, EVERYWHERE), NamedSharding(mesh, BY_WORKER)
        self._share = program.micro_batches * program.micro_batch_size
        self._requests = np.zeros(NUM_REQUESTS, np.float32)
        self._requested: deque[jax.Array] = deque()
        self._is_on_cpu = jax.default_backend() == "cpu"
        super().__init__(program, state)
        run = self._on_all(self._run_shared, EVERYWHERE, EVERYWHERE, BY_WORKER, EVERYWHERE, EVERYWHERE, BY_WORKER)
        finish = self._on_all(self._finish_shared, EVERYWHERE, BY_WORKER, BY_WORKER, EVERYWHERE, BY_WORKER)
        self._shared_function, self._shared_finish = jax.jit(run, donate_argnums=0), jax.jit(finish, donate_argnums=0)
        self._summed = jax.jit(self._on_all(lambda counts: jax.lax.psum(counts[0], AXIS), BY_WORKER))

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> jax.Array:
        requests = self._parts(self._requests)
        if self.is_in_pieces:
            self.state, result, requested = self._pieces_shared(batch, np.float32(rate), key, requests)
        else:
            whole = {name: jax.make_array_from_process_local_data(self._parted, each) for name, each in batch.items()}
            self.state, result, requested = self._shared_function(self.state, self.fixed, whole, np.float32(rate), key, requests)
        self._requested.append(requested)
        self._show("weights")
        return self._own(result)

    def exchange_requests(self, requests: tuple[bool, bool]) -> tuple[bool, bool]:
        """Goes with the next step; what any process wished with the step before the last one, the same on all of them. The last
        one is still computed while this waits, so that the device does not."""
        self._requests = np.array(requests, np.float32)
        if len(self._requested) < 2:
            return False, False
        end, save = np.asarray(self._own(self._requested.popleft()))
        return bool(end), bool(save)

    def take_over(self) -> None:
        """All processes have the state of the first from now on, bit by bit."""
        first = jax.jit(self._on_all(self._of_first, BY_WORKER))
        arrays = {**self.state, **self.fixed}
        same = first({name: self._parts(np.asarray(self._own(array))) for name, array in arrays.items()})
        self.restore({name: np.asarray(self._own(array)) for name, array in same.items()})

    def restore(self, arrays: Arrays) -> None:
        self._requested.clear()
        super().restore(arrays)

    # --- arrays of all processes ---

    def _put(self, array: np.ndarray) -> jax.Array:
        """Each process puts its own, which are the same, or are made the same by `take_over`."""
        here = jax.device_put(array, jax.local_devices()[0], may_alias=False)
        return jax.make_array_from_single_device_arrays(array.shape, self._same, [here])

    def _own(self, array: jax.Array) -> jax.Array:
        return array.addressable_data(0)

    def _parts(self, own: Any) -> jax.Array:
        """What each process has, one after the other along a new first axis."""
        here = jax.device_put(own, jax.local_devices()[0])[None]
        return jax.make_array_from_single_device_arrays((self._mesh.size, *own.shape), self._parted, [here])

    def _on_all(self, function: Any, *given: PartitionSpec) -> Any:
        return jax.shard_map(function, mesh=self._mesh, in_specs=given, out_specs=EVERYWHERE, check_vma=False)

    def _pieces_shared(self, batch: Arrays, rate: np.float32, key: np.ndarray, requests: jax.Array) -> tuple[State, Any, Any]:
        """Each process computes its parts by itself; only counts and the sums in the end are brought together."""
        state, fixed = ({name: self._own(array) for name, array in each.items()} for each in (self.state, self.fixed))
        size, place = self.program.micro_batch_size, jax.process_index() * self._share
        firsts = range(0, self._share, size)
        parts = [
            ({name: each[first : first + size] for name, each in batch.items()}, np.int32(place + first)) for first in firsts
        ]
        counts: Any = sum(self._counted(state, fixed, *part, key) for part in parts)
        counts = self._own(self._summed(self._parts(counts)))
        sums, statistics = self._zero_sums(state), self._statistics(state)
        for part in parts:
            sums, statistics = self._added(sums, statistics, state, fixed, *part, key, counts)
        del state, fixed  # they lie where the next state will
        return self._shared_finish(  # type: ignore[no-any-return]
            self.state, jax.tree.map(self._parts, sums), jax.tree.map(self._parts, statistics), rate, requests
        )

    # --- what is compiled ---

    def _run_shared(self, state: State, fixed: State, batch: State, rate: jax.Array, key: jax.Array, requests: jax.Array) -> Any:
        after, result = self._run(state, fixed, batch, rate, key)
        return after, result, jax.lax.psum(requests[0], AXIS)

    def _finish_shared(self, state: State, sums: Sums, statistics: State, rate: jax.Array, requests: jax.Array) -> Any:
        sums, statistics = jax.tree.map(lambda each: each[0], (sums, statistics))
        after, result = self._finish(state, sums, statistics, rate)
        return after, result, jax.lax.psum(requests[0], AXIS)

    def _of_first(self, parts: State) -> State:
        is_first = jax.lax.axis_index(AXIS) == 0
        return {name: jax.lax.psum(jnp.where(is_first, each[0], jnp.zeros_like(each[0])), AXIS) for name, each in parts.items()}

    def _place(self) -> Any:
        return jax.lax.axis_index(AXIS) * self._share

    def _of_all(self, counts: jax.Array) -> jax.Array:
        return jax.lax.psum(counts, AXIS)

    def _together(self, sums: Sums, statistics: State) -> tuple[Sums, State]:
        shares = jax.tree.map(lambda each: each / self._mesh.size, statistics)
        if not self._is_on_cpu:
            return jax.lax.psum((sums, shares), AXIS)  # type: ignore[no-any-return]
        # In one piece: on cards the compiler sees to it, between processors each array would make the round by itself.
        leaves, structure = jax.tree.flatten((sums, shares))
        flat = jax.lax.psum(jnp.concatenate([leaf.ravel() for leaf in leaves]), AXIS)
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        pieces = [part.reshape(leaf.shape) for part, leaf in zip(jnp.split(flat, ends), leaves, strict=True)]
        return jax.tree.unflatten(structure, pieces)  # type: ignore[no-any-return]


def _one_of_each_process() -> list[str]:
    """A worker computes on one device: its first."""
    firsts: dict[int, Any] = {}
    for device in jax.devices():
        firsts.setdefault(device.process_index, device)
    return [f"{device.platform}:{device.id}" for _, device in sorted(firsts.items())]
