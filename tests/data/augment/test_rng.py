"""What is drawn depends on (seed, epoch, row) and the purpose, and on nothing else."""

from __future__ import annotations

import numpy as np

from unstall.data.augment.rng import EXAMPLE, SUBSTITUTE, Rng, draw_raw_words


def test_the_same_place_gives_the_same_numbers_in_any_order() -> None:
    first = [Rng(7, 3, row).number() for row in range(50)]
    again = [Rng(7, 3, row).number() for row in reversed(range(50))]
    assert first == again[::-1]
    assert len(set(first)) == 50


def test_seed_epoch_row_and_purpose_each_matter() -> None:
    numbers = {Rng(*place).number() for place in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0, SUBSTITUTE)]}
    assert len(numbers) == 5


def test_the_numbers_are_those_of_philox_for_good() -> None:
    """Written down once: a stream must continue after NumPy has been updated."""
    assert draw_raw_words(7, EXAMPLE, 3, 5, 3).tolist() == RECORDED


def test_numbers_are_even_and_within_their_bounds() -> None:
    rng = Rng(1, 0, 0)
    numbers = np.array([rng.number() for _ in range(20_000)])
    assert numbers.min() >= 0 and numbers.max() < 1
    assert np.histogram(numbers, 10, (0, 1))[0].min() > 1_800
    assert {rng.index(3) for _ in range(100)} == {0, 1, 2}
    assert all(2 <= rng.between(2, 3) < 3 for _ in range(100))


RECORDED = [17030266718349070742, 7143691691018983477, 17430732920379893365]
