"""Sampling: objects up to their share, background for the rest, nothing twice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.rng import gather_at, sample

CANDIDATES = 40


def drawn(objects: int, background: int, count: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of two images: one with these candidates, and one with none."""
    place = np.arange(CANDIDATES)
    is_object, is_background = place < objects, place >= CANDIDATES - background
    nothing = np.zeros(CANDIDATES, bool)
    random_numbers = np.random.default_rng(seed).random((2, CANDIDATES), np.float32)
    found = sample(np.stack([is_object, nothing]), np.stack([is_background, nothing]), count, share, random_numbers)
    chosen, objects_found, used = (array(each) for each in found)
    assert not used[1].any() and not objects_found[1].any()
    assert chosen.shape == (2, count)
    return chosen[0], objects_found[0], used[0]


@pytest.mark.parametrize(
    ("objects", "background", "count", "share", "expected"),
    [
        (20, 20, 16, 0.5, (8, 8)),  # enough of both
        (3, 30, 16, 0.5, (3, 13)),  # background fills up
        (20, 4, 16, 0.5, (8, 4)),  # too few: objects do not fill up
        (0, 30, 16, 0.25, (0, 16)),
        (30, 0, 16, 0.25, (4, 0)),
        (20, 20, 16, 0.3, (4, 12)),  # a share is rounded down
    ],
)
def test_as_many_are_drawn_as_published(
    objects: int, background: int, count: int, share: float, expected: tuple[int, int]
) -> None:
    place, is_object, is_used = drawn(objects, background, count, share)
    assert (int((is_object & is_used).sum()), int((~is_object & is_used).sum())) == expected
    assert len(set(place[is_used].tolist())) == sum(expected)
    assert (place[is_object & is_used] < objects).all()
    assert (place[~is_object & is_used] >= CANDIDATES - background).all()


def test_each_is_drawn_about_as_often() -> None:
    often = np.zeros(CANDIDATES, int)
    for seed in range(120):
        place, _, is_used = drawn(10, 30, 8, 0.5, seed)
        often[place[is_used]] += 1
    assert often.sum() == 120 * 8
    assert often[:10].min() >= 24 and often[:10].max() <= 76  # 48 are expected, and four standard deviations allowed
    assert often[10:].min() > 0 and often[10:].max() <= 36  # 16


def test_values_are_read_at_places() -> None:
    place = np.array([[2, 0]], np.int32)
    assert array(gather_at(np.array([[5, 6, 7]], np.int32), place)).tolist() == [[7, 5]]
    assert array(gather_at(np.array([[[5, 1], [6, 2], [7, 3]]], np.float32), place)).tolist() == [[[7, 3], [5, 1]]]


def test_a_count_beyond_all_takes_all() -> None:
    random = np.random.default_rng(1)
    is_object = random.random((2, CANDIDATES)) < 0.3
    is_background = ~is_object & (random.random((2, CANDIDATES)) < 0.5)
    random_numbers = random.random((2, CANDIDATES), np.float32)
    place, chosen, used = (array(each) for each in sample(is_object, is_background, 10**6, 0.5, random_numbers))
    assert place.shape == (2, CANDIDATES)
    for image in range(2):
        assert set(place[image][chosen[image]].tolist()) == set(np.flatnonzero(is_object[image]))
        assert set(place[image][used[image] & ~chosen[image]].tolist()) == set(np.flatnonzero(is_background[image]))
