"""What weights begin with: spread as asked for, reproducible, and never the same twice."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.initializers import RandomInitializer, glorot_uniform, he_normal, normal, variance_scaling

SHAPE = (3, 3, 40, 90)


@pytest.mark.parametrize(
    ("start", "deviation"),
    [
        (normal(0.03), 0.03),
        (he_normal(), np.sqrt(2 / (9 * 90))),
        (glorot_uniform(), np.sqrt(2 / (9 * 130))),
        (variance_scaling(1 / 3, "in", is_uniform=True), np.sqrt(1 / 3 / (9 * 40))),
    ],
)
def test_values_spread_as_asked_for(start: RandomInitializer, deviation: float) -> None:
    values = array(start(SHAPE, "float32"))
    assert values.shape == SHAPE and values.dtype == np.float32
    assert abs(values.std() / deviation - 1) < 0.02 and abs(values.mean()) < 0.02 * deviation
    if start.is_uniform:
        assert np.abs(values).max() <= deviation * np.sqrt(3) * 1.0001


def test_one_start_gives_two_layers_different_numbers_and_the_same_again_for_the_same_seed() -> None:
    start = normal(1.0)
    keras.utils.set_random_seed(7)
    first, second = (array(start((4, 5), "float32")) for _ in range(2))
    keras.utils.set_random_seed(7)
    again = array(start((4, 5), "float32"))
    assert not np.array_equal(first, second) and np.array_equal(first, again)
