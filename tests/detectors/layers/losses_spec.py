"""Losses, against their formulas written out in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from keras import ops

from tests.detectors.layers.random_boxes import SEEDS, array, some_examples, tensor
from unstall.detectors.layers import losses

EXTREME = np.array([-1e4, -100, -30, -1, 0, 1, 30, 100, 1e4], np.float32)


def logits(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 5, (4, 3)).astype(np.float32)


@some_examples
@given(SEEDS)
def test_focal_loss_is_as_published(seed: int) -> None:
    x = logits(seed)
    is_class = np.random.default_rng(seed + 1).random((4, 3)) < 0.3
    wide = x.astype(np.float64)
    right = np.where(is_class, 1 / (1 + np.exp(-wide)), 1 / (1 + np.exp(wide)))
    for alpha, gamma in ((0.25, 2.0), (0.5, 0.0), (0.9, 1.5)):
        expected = np.where(is_class, alpha, 1 - alpha) * (1 - right) ** gamma * -np.log(right)
        assert np.allclose(array(losses.focal(x, is_class, alpha, gamma)), expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("is_class", [False, True])
def test_focal_loss_of_extreme_outputs_is_finite_and_in_float32(dtype: str, is_class: bool) -> None:
    x = ops.cast(EXTREME, dtype)
    loss = losses.focal(x, np.full(9, is_class), 0.25, 2.0)
    assert "float32" in str(loss.dtype)
    found = array(loss)
    assert np.isfinite(found).all() and (found >= 0).all()
    share = 0.25 if is_class else 0.75
    worst = found[0] if is_class else found[-1]
    assert np.isclose(worst, share * 1e4, rtol=0.01)
    assert found[-1 if is_class else 0] == 0


@some_examples
@given(SEEDS)
def test_binary_cross_entropy_is_as_defined(seed: int) -> None:
    x = logits(seed)
    target = np.random.default_rng(seed + 1).random((4, 3)).astype(np.float32)
    right = 1 / (1 + np.exp(-x.astype(np.float64)))
    expected = -(target * np.log(right) + (1 - target) * np.log1p(-right))
    assert np.allclose(array(losses.binary_cross_entropy(x, target)), expected, rtol=1e-4, atol=1e-5)
    assert np.isfinite(array(losses.binary_cross_entropy(EXTREME, np.ones(9, np.float32)))).all()


@some_examples
@given(SEEDS)
def test_cross_entropy_is_as_defined(seed: int) -> None:
    x = logits(seed)
    label = np.random.default_rng(seed + 1).integers(0, 3, 4).astype(np.int32)
    wide = x.astype(np.float64)
    expected = np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(4), label]
    assert np.allclose(array(losses.cross_entropy(x, label)), expected, rtol=1e-4, atol=1e-5)


def test_cross_entropy_of_extreme_outputs_is_finite() -> None:
    found = array(losses.cross_entropy(ops.cast(EXTREME[None], "bfloat16"), np.array([0], np.int32)))
    assert np.isclose(found[0], 2e4, rtol=0.01)


@pytest.mark.parametrize("beta", [0.0, 1 / 9, 1.0])
def test_smooth_l1_is_a_square_near_0_and_straight_beyond(beta: float) -> None:
    distance = np.array([0.0, 0.05, 0.5, 3.0], np.float32)
    bent = 0.5 * distance**2 / beta if beta else distance
    expected = np.where(distance < beta, bent, distance - 0.5 * beta)
    assert np.allclose(array(losses.smooth_l1(distance[None], np.zeros((1, 4), np.float32), beta)), expected.sum())


@some_examples
@given(SEEDS)
def test_the_hardest_background_is_taken_three_for_each_object(seed: int) -> None:
    random = np.random.default_rng(seed)
    loss = random.random((2, 20)).astype(np.float32)
    kind = random.integers(0, 6, (2, 20)) * (np.arange(2)[:, None] < 1)  # the second image has no object
    is_object, is_background = kind == 1, kind != 1
    found = array(losses.mine_hard_negatives(tensor(loss), tensor(is_object), tensor(is_background), 3.0))
    for image in range(2):
        wanted = min(3 * int(is_object[image].sum()), int(is_background[image].sum()))
        hardest = sorted(np.flatnonzero(is_background[image]), key=lambda place: -loss[image, place])[:wanted]
        assert sorted(np.flatnonzero(found[image]).tolist()) == sorted(int(place) for place in hardest)


def test_of_equal_losses_no_more_are_taken_than_wanted() -> None:
    random = np.random.default_rng(1)
    for per_object, levels in ((3.0, 10_000), (3.0, 4), (0.5, 3), (50.0, 10)):  # few levels: many equal losses
        loss = (random.integers(0, levels, (5, 200)) / levels).astype(np.float32)
        is_object = random.random((5, 200)) < np.array([0.0, 0.005, 0.03, 0.3, 1.0])[:, None]
        is_background = ~is_object & (random.random((5, 200)) < 0.9)
        chosen = array(losses.mine_hard_negatives(loss, is_object, is_background, per_object))
        for image in range(5):
            wanted = min(int(per_object * is_object[image].sum()), is_background[image].sum())
            assert chosen[image].sum() == wanted
            assert not (chosen[image] & ~is_background[image]).any()
            hardest = np.sort(loss[image][is_background[image]])[::-1][:wanted]
            assert np.array_equal(np.sort(loss[image][chosen[image]])[::-1], hardest)


def test_a_share_of_nothing_is_0() -> None:
    assert array(losses.compute_share(np.array([0.0, 6.0], np.float32), np.array([0, 3]))).tolist() == [0.0, 2.0]
