"""What a sample is to hold: enough of each kind, none twice, and all alike in their chances."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from unstall.detectors.parts.sampling import Sample, at, sample


def drawn(is_object: np.ndarray, is_background: np.ndarray, count: int, share: float, seed: object = 1) -> Sample:
    tensors = (ops.convert_to_tensor(each) for each in (is_object, is_background))
    return Sample(*(ops.convert_to_numpy(each) for each in sample(*tensors, count, share, seed)))


def flags(count: int, *true: int) -> np.ndarray:
    result = np.zeros((1, count), bool)
    result[0, list(true)] = True
    return result


def check_objects_up_to_their_share_and_background_for_the_rest() -> None:
    random = np.random.default_rng(0)
    is_object = random.random((3, 400)) < np.array([[0.5], [0.05], [0.0]])
    is_background = ~is_object & (random.random((3, 400)) < 0.8)
    result = drawn(is_object, is_background, 64, 0.25)
    assert result.is_used.all()
    assert result.is_object.sum(axis=1).tolist() == [16, min(16, is_object[1].sum()), 0]
    for image in range(3):
        place, chosen = result.place[image], result.is_object[image]
        assert len(set(place.tolist())) == 64
        assert is_object[image][place[chosen]].all() and is_background[image][place[~chosen]].all()


def check_where_there_are_too_few_the_rest_is_not_used() -> None:
    result = drawn(flags(50, 3, 7), flags(50, 10, 11, 12), 16, 0.5)
    assert result.is_used.sum() == 5 and result.is_object.sum() == 2
    assert sorted(result.place[result.is_used].tolist()) == [3, 7, 10, 11, 12]
    assert set(result.place[result.is_object].tolist()) == {3, 7}


def check_nothing_to_draw_from_gives_nothing() -> None:
    result = drawn(flags(20), flags(20), 8, 0.5)
    assert not result.is_used.any() and not result.is_object.any()


def check_a_count_beyond_all_takes_all() -> None:
    random = np.random.default_rng(1)
    is_object = random.random((2, 90)) < 0.3
    is_background = ~is_object & (random.random((2, 90)) < 0.5)
    result = drawn(is_object, is_background, 10**6, 0.5)
    assert result.place.shape == (2, 90)
    for image in range(2):
        used = result.is_used[image]
        assert set(result.place[image][used & result.is_object[image]].tolist()) == set(np.flatnonzero(is_object[image]))
        assert set(result.place[image][used & ~result.is_object[image]].tolist()) == set(np.flatnonzero(is_background[image]))


def check_each_is_as_likely_as_the_next() -> None:
    """40 of 200 background places, 300 times: each about 60 times; five standard deviations are 35."""
    seed = keras.random.SeedGenerator(7)
    counts = np.zeros(200)
    none = np.zeros((10, 200), bool)
    for _ in range(30):
        counts += np.bincount(drawn(none, ~none, 40, 0.5, seed).place.reshape(-1), minlength=200)
    assert counts.sum() == 300 * 40
    assert np.abs(counts - 60).max() < 35, (counts.min(), counts.max())


def check_another_draw_is_another_sample_and_the_same_seed_the_same() -> None:
    is_background = np.ones((1, 300), bool)
    seed = keras.random.SeedGenerator(3)
    first, second = (drawn(~is_background, is_background, 30, 0.5, seed).place.tolist() for _ in range(2))
    assert first != second
    assert drawn(~is_background, is_background, 30, 0.5, keras.random.SeedGenerator(3)).place.tolist() == first


def check_values_at_places() -> None:
    random = np.random.default_rng(2)
    table, place = random.normal(size=(2, 9, 5)).astype("float32"), random.integers(0, 9, (2, 4))
    expected = np.stack([table[image][place[image]] for image in range(2)])
    assert (ops.convert_to_numpy(at(ops.convert_to_tensor(table), ops.convert_to_tensor(place))) == expected).all()
    one = at(ops.convert_to_tensor(table[..., 0]), ops.convert_to_tensor(place))
    assert (ops.convert_to_numpy(one) == expected[..., 0]).all()
