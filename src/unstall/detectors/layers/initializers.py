"""What weights begin with, drawn by NumPy: the same numbers on every backend for the same seed (`keras.utils.set_random_seed`),
and at once, where a backend that compiles would compile a generator for the shape of every layer."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

import keras
import numpy as np
from keras import ops

from unstall.detectors.layers.boxes import Tensor


class RandomInitializer(keras.initializers.Initializer):  # type: ignore[misc]
    """Each variable has numbers of its own, even where one of these serves several."""

    def __init__(self, spread: Callable[[Sequence[int]], float], is_uniform: bool = False) -> None:
        self.spread, self.is_uniform = spread, is_uniform

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        numbers = np.random.default_rng(random.getrandbits(64))
        draw = numbers.random if self.is_uniform else numbers.standard_normal
        values = draw(shape, np.float32)
        if self.is_uniform:
            values = 2 * values - 1
        return ops.convert_to_tensor(values * np.float32(self.spread(shape)), dtype=dtype)


def normal(deviation: float) -> RandomInitializer:
    return RandomInitializer(lambda shape: deviation)


def variance_scaling(scale: float, by: Literal["in", "out", "both"], is_uniform: bool = False) -> RandomInitializer:
    """With a variance of `scale` over the number of values that go into an output, that an input goes into, or their mean."""

    def spread(shape: Sequence[int]) -> float:
        places = math.prod(shape[:-2])
        going_in, going_out = places * shape[-2], places * shape[-1]
        count = {"in": going_in, "out": going_out, "both": (going_in + going_out) / 2}[by]
        return math.sqrt((3 if is_uniform else 1) * scale / count)

    return RandomInitializer(spread, is_uniform)


def he_normal() -> RandomInitializer:
    """By the channels that come out, as torchvision begins."""
    return variance_scaling(2.0, "out")


def glorot_uniform() -> RandomInitializer:
    return variance_scaling(1.0, "both", is_uniform=True)
