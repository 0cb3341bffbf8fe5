"""The order is owned: every epoch a permutation of its own, and any step is where it always was."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.base.errors import InvalidInputError
from unstall.data.pipeline.sampler import Order, draw_permutation


@given(st.integers(0, 2**64 - 1), st.integers(0, 10_000), st.integers(1, 500))
def test_an_epoch_has_each_row_once(seed: int, epoch: int, count: int) -> None:
    assert sorted(draw_permutation(seed, epoch, count).tolist()) == list(range(count))


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = {tuple(draw_permutation(seed, epoch, 40).tolist()) for seed in range(5) for epoch in range(5)}
    assert len(orders) == 25
    assert draw_permutation(3, 2, 10).tolist() == [6, 0, 2, 8, 4, 1, 9, 3, 7, 5]  # written down once, for good


def test_training_leaves_an_incomplete_batch_out_and_evaluation_fills_it_up() -> None:
    training, evaluation = Order(10, 4, 0, for_training=True), Order(10, 4, 0, for_training=False)
    assert (training.steps_per_epoch, evaluation.steps_per_epoch) == (2, 3)
    assert [evaluation.rows(5, step).tolist() for step in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, -1, -1]]
    assert len(set(np.concatenate([training.rows(0, 0), training.rows(0, 1)]).tolist())) == 8


def test_steps_go_on_over_the_ends_of_epochs() -> None:
    order = Order(10, 4, 0, for_training=True)
    assert list(order.steps(3, 1, 2)) == [(3, 1), (4, 0), (4, 1)]
    assert list(itertools.islice(order.steps(0, 2, None), 3)) == [(1, 0), (1, 1), (2, 0)]
    # Asked for in any order, also after the memory of earlier epochs is gone.
    assert order.rows(0, 1).tolist() == [order.rows(epoch, 1).tolist() for epoch in (5, 4, 3, 0)][-1]


@pytest.mark.parametrize(("epoch", "step"), [(-1, 0), (0, -1), (0, 3)])
def test_a_step_that_is_not_there_is_refused(epoch: int, step: int) -> None:
    with pytest.raises(InvalidInputError, match="a step of 0 to 2"):
        Order(10, 4, 0, for_training=True).steps(epoch, step, 1)


def test_too_few_examples_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"at least batch_size=4 examples\. Received: 3"):
        Order(3, 4, 0, for_training=True)
    assert Order(3, 4, 0, for_training=False).steps_per_epoch == 1
