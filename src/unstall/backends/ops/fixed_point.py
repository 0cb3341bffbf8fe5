"""Rounds until nothing changes any more: a loop that XLA compiles; on PyTorch one operation, as after each round the card must be
asked, which nothing that is recorded can do (see `unstall.training.step.cuda_graphs`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from keras import ops

from unstall.backends.ops.nn import is_of_torch

WAITING: set[Any] = set()  # operations that wait for the card

Tensor = Any


def find_fixed_point(counts: Tensor, overlaps: Tensor) -> Tensor:
    """Of what counts (batch, n), what stays: whatever is overlapped (batch, n, by n) by nothing that stays."""
    if is_of_torch(overlaps):
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
