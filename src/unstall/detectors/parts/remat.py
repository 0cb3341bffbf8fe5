"""Rematerialisation: a block's inner results are computed again when gradients need them, rather than kept."""

from __future__ import annotations

import keras
from keras import ops

from unstall.detectors.parts.boxes import Tensor


def recomputed(block: keras.layers.Layer, x: Tensor, training: bool | None) -> Tensor:
    """`block(x)`, without memory for what lies inside of it.

    The block runs twice, so it must not write while it does: variables go in as values, and what a norm has counted comes out
    and is written once. Writing from inside would count a batch twice, or hand out a value of a trace that has ended.
    """
    variables, counted = block.trainable_variables, block.non_trainable_variables

    def pure(x: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        learned, statistics = values[: len(variables)], values[len(variables) :]
        y, updated = block.stateless_call(list(learned), list(statistics), x, training=training)
        return y, *(ops.convert_to_tensor(each) for each in updated)

    values = [ops.convert_to_tensor(variable) for variable in (*variables, *counted)]
    y, *updated = keras.remat(pure)(x, *values)
    for variable, value in zip(counted, updated, strict=True):
        variable.assign(value)
    return y
