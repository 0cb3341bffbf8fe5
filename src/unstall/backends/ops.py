"""Operations that Keras lacks, or that are faster on one backend than its own.

The largest of many, and of equal ones the first: PyTorch alone takes any of them, which would make what is found a matter of
chance where scores are equal. (They often are: regions narrower than a pixel of the map are read at the same places.)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import keras
from keras import ops

from unstall.backends import find_running_backend
from unstall.backends.torch_nn import is_torch_tensor

Tensor = Any


def top_k(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Along the last axis: the values, the largest first, and where they stood."""
    if keras.backend.backend() != "torch":
        largest, place = keras.ops.top_k(values, count)
        return largest, place
    import torch

    largest, place = torch.sort(keras.ops.convert_to_tensor(values), dim=-1, descending=True, stable=True)
    return largest[..., :count], place[..., :count].int()


# Rounds until nothing changes any more: a loop that XLA compiles; on PyTorch one operation, as after each round the card must
# be asked, which nothing that is recorded can do (see `unstall.training.step.cuda_graphs`).


WAITING: set[Any] = set()  # operations that wait for the card


def find_fixed_point(counts: Tensor, overlaps: Tensor) -> Tensor:
    """Of what counts (batch, n), what stays: whatever is overlapped (batch, n, by n) by nothing that stays."""
    if is_torch_tensor(overlaps):
        return _operation()(counts, overlaps)

    def another_round(stays: Tensor, changed: Tensor) -> tuple[Tensor, Tensor]:
        now = counts & ~ops.any(overlaps & stays[:, None, :], axis=2)
        return now, ops.any(now != stays)

    first = (counts, ops.convert_to_tensor(True))
    stays, _ = ops.while_loop(lambda stays, changed: changed, another_round, first, maximum_iterations=counts.shape[1])
    return stays


@cache
def _operation() -> Any:
    import torch

    def rounds(counts: torch.Tensor, overlaps: torch.Tensor) -> torch.Tensor:
        stays = counts.clone()
        for _ in range(counts.shape[1]):
            now = counts & ~(overlaps & stays[:, None, :]).any(2)
            if torch.equal(now, stays):
                break
            stays = now
        return stays

    # Annotations are words here, which the registration cannot read.
    operation = torch.library.custom_op(
        "unstall::settled", rounds, mutates_args=(), schema="(Tensor counts, Tensor overlaps) -> Tensor"
    )
    operation.register_fake(lambda counts, overlaps: torch.empty_like(counts))
    WAITING.add(torch.ops.unstall.settled.default)
    return torch.ops.unstall.settled.default


# Weighted sums of many rows of a table. XLA reads and adds in one go what Keras writes out; PyTorch, operation by operation,
# would first lay all the rows beside each other, which for the regions of one step are several GiB.


def gather_weighted_rows(tables: Tensor, place: Tensor, weight: Tensor) -> Tensor | None:
    """Of each table (batch, rows, channels), at (batch, sums, terms): (batch, sums, channels). None: write it out."""
    if not is_torch_tensor(tables):
        return None
    import torch

    batch, rows, channels = tables.shape
    _, sums, terms = place.shape
    first = torch.arange(batch, dtype=place.dtype, device=place.device) * rows
    place = (place + first[:, None, None]).reshape(-1, terms)
    summed = torch.nn.functional.embedding_bag(
        place, tables.reshape(-1, channels), mode="sum", per_sample_weights=weight.reshape(-1, terms)
    )
    return summed.reshape(batch, sums, channels)


# Values that a compiler is to take for others, though they are the same.


def add_optimization_barrier(x: Tensor) -> Tensor:
    """The same, of which nothing is known: what is computed of it is computed by itself, and not shared with what is computed of
    `x` elsewhere. XLA shares by keeping, and keeps what would sooner be computed twice. (TensorFlow has no word for it.)"""
    if find_running_backend() != "jax":
        return x
    import jax

    return jax.lax.optimization_barrier(x)
