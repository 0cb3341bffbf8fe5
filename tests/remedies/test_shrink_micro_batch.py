"""Fewer images at once, the same batch; down to one."""

import pytest

from tests.remedies.builders import began, fault
from unstall.remedies.plan import Kind, Verb
from unstall.remedies.shrink_micro_batch import find_divisor, plan

MEMORY = Kind.DEVICE_MEMORY


@pytest.mark.parametrize(
    ("batch_size", "at_once", "then"), [(16, None, 8), (16, 8, 4), (12, None, 6), (12, 6, 3), (12, 3, 1), (7, None, 1), (2, 2, 1)]
)
def test_the_next_divisor_that_is_at_most_half(batch_size: int, at_once: int | None, then: int) -> None:
    planned = plan(fault(MEMORY, batch_size=batch_size, micro_batch_size=at_once))
    assert planned is not None
    assert (planned.verb, planned.change, planned.undo) == (
        Verb.CHANGE,
        {"micro_batch_size": then},
        {"micro_batch_size": at_once},
    )
    assert planned.verify.past_step == 100


def test_one_image_at_once_cannot_be_made_fewer() -> None:
    assert plan(fault(MEMORY, batch_size=16, micro_batch_size=1)) is None


def test_host_memory_is_helped_by_it_only_where_the_step_is_computed_in_it() -> None:
    assert plan(fault(Kind.HOST_MEMORY, began("cuda:0"))) is None
    assert plan(fault(Kind.HOST_MEMORY, began("TFRT_CPU_0"))) is not None
    assert plan(fault(Kind.HOST_MEMORY)) is not None  # it died before it could say


def test_the_largest_divisor() -> None:
    assert [find_divisor(12, most) for most in (100, 12, 11, 5, 1, 0)] == [12, 12, 6, 4, 1, None]
