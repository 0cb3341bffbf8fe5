"""Random numbers of a place: spread evenly, without a pattern, the same in parts and as a whole, the same on every backend."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.rng import Draw, draw_of, uniform

IMAGES, CANDIDATES = 32, 2000


def mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def plainly(key: np.ndarray, stream: int) -> np.ndarray:
    first, second = key.astype(np.uint32)
    of_image = mixed((mixed(np.arange(IMAGES, dtype=np.uint32) ^ first) + np.uint32(stream * 0x1B873593)) ^ second)
    numbers = mixed(of_image[:, None] ^ mixed(np.arange(CANDIDATES, dtype=np.uint32))[None])
    return (numbers >> np.uint32(8)).astype(np.float64) / 2**24


@pytest.mark.parametrize("key", [(0, 0), (5, -7), (-(2**31), 2**31 - 1)])
def test_every_backend_draws_the_numbers_of_the_plain_way(key: tuple[int, int]) -> None:
    given = np.array(key, np.int32)
    for stream in (1, 2):
        assert (array(uniform(Draw(given), stream, IMAGES, CANDIDATES)) == plainly(given, stream)).all()


def test_a_batch_in_parts_draws_what_it_draws_as_a_whole() -> None:
    key = np.array([3, 4], np.int32)
    whole = array(uniform(Draw(key), 1, 8, CANDIDATES))
    parts = [array(uniform(Draw(key, first), 1, 2, CANDIDATES)) for first in range(0, 8, 2)]
    assert (np.concatenate(parts) == whole).all()


def test_numbers_are_spread_evenly_and_know_nothing_of_each_other() -> None:
    draws = [plainly(np.array([seed, 1], np.int32), stream) for seed in range(3) for stream in (1, 2)]
    for numbers in draws:
        assert numbers.min() >= 0 and numbers.max() < 1
        counts, _ = np.histogram(numbers, bins=50, range=(0, 1))
        assert abs(counts - numbers.size / 50).max() < 6 * np.sqrt(numbers.size / 50)
        rows = np.corrcoef(numbers) - np.eye(IMAGES)
        assert abs(rows).max() < 5.5 / np.sqrt(CANDIDATES)
        assert abs(np.corrcoef(numbers[:, 1:].ravel(), numbers[:, :-1].ravel())[0, 1]) < 5 / np.sqrt(numbers.size)
    between = np.corrcoef([numbers.ravel() for numbers in draws]) - np.eye(len(draws))
    assert abs(between).max() < 5 / np.sqrt(IMAGES * CANDIDATES)


def test_a_generator_gives_another_draw_each_time_and_a_number_the_same() -> None:
    generator = keras.random.SeedGenerator(7)
    first, second = (array(uniform(draw_of(generator), 1, 1, CANDIDATES)) for _ in range(2))
    assert (first != second).any()
    again, once_more = (array(uniform(draw_of(7), 1, 1, CANDIDATES)) for _ in range(2))
    assert (again == once_more).all()
    assert draw_of(draw := Draw(np.array([1, 2], np.int32))) is draw
