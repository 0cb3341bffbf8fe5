"""A training step on JAX that several processes make together: one program on all of them, each with its part of the batch.

The state is the same on all. What a loss is shared by, and gradients, are summed over all before anybody uses them, and what is
drawn hangs on an image's place in the whole batch: so the update is that of one process with all images. Norms that learn see
the part of their own process; their statistics are averaged. A wish of any process goes with the step, and all hear of it at
the same step: what one of them would do by itself would leave the others waiting.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from unstall.training.step.train_step_jax import JaxTrainStep, State, Sums

if TYPE_CHECKING:
    from unstall.training.step.program import Program
    from unstall.training.step.train_step import Arrays

AXIS = "batch"  # as keras.distribution.DataParallel calls it
EVERYWHERE, BY_WORKER = PartitionSpec(), PartitionSpec(AXIS)
NUM_REQUESTS = 2  # that can go with a step


class DistributedJaxTrainStep(JaxTrainStep):
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
