"""What is changed so that a run fits: in one order, and only as far as is needed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.planning.memory.memory_plan import COSTS, Choice, choose, list_choices

WANTED = Choice("float32", False, 16)


def need_of(choice: Choice) -> int:
    """Of a detector of 100 fixed bytes, and 40 for an image in float32."""
    per_image = 40 * (0.5 if choice.precision == "bfloat16" else 1) * (0.5 if choice.remat else 1)
    return int(100 + per_image * choice.micro_batch_size)


@pytest.mark.parametrize(
    ("limit", "what", "choice"),
    [
        (740, ["as wanted"], WANTED),
        (739, ["as wanted", "bfloat16"], replace(WANTED, precision="bfloat16")),
        (419, ["as wanted", "bfloat16", "remat"], Choice("bfloat16", True, 16)),
        (259, ["as wanted", "bfloat16", "remat", "micro-batch"], Choice("bfloat16", True, 8)),
        (179, ["as wanted", "bfloat16", "remat", "micro-batch"], Choice("bfloat16", True, 4)),
        (110, ["as wanted", "bfloat16", "remat", "micro-batch"], Choice("bfloat16", True, 1)),
    ],
)
def test_the_order_is_bfloat16_then_remat_then_a_smaller_micro_batch(limit: int, what: list[str], choice: Choice) -> None:
    tried = choose(WANTED, 16, need_of, limit, has_bfloat16=True)
    assert [each.what for each in tried] == what
    assert tried[-1].choice == choice and tried[-1].fits
    assert not any(each.fits for each in tried[:-1])


def test_where_nothing_fits_the_smallest_is_shown_and_said_not_to() -> None:
    tried = choose(WANTED, 16, need_of, 105, has_bfloat16=True)
    assert tried[-1].choice == Choice("bfloat16", True, 1) and not tried[-1].fits and tried[-1].need_bytes == 110


def test_a_device_without_bfloat16_is_not_given_it() -> None:
    tried = choose(WANTED, 16, need_of, 300, has_bfloat16=False)
    assert [each.what for each in tried] == ["as wanted", "remat", "micro-batch"]
    assert tried[-1].choice == Choice("float32", True, 8)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_what_was_chosen_already_is_not_chosen_again(precision: str) -> None:
    wanted = Choice(precision, True, 1)  # type: ignore[arg-type]
    assert list(list_choices(wanted, 16, has_bfloat16=True)) == [("as wanted", wanted)]


@given(st.integers(1, 96), st.integers(1, 60), st.integers(0, 4000))
def test_the_micro_batch_is_the_largest_divisor_that_fits(batch_size: int, per_image: int, limit: int) -> None:
    wanted = Choice("bfloat16", True, batch_size)
    looked: list[Choice] = []

    def need(choice: Choice) -> int:
        looked.append(choice)
        return 50 + per_image * choice.micro_batch_size

    last = choose(wanted, batch_size, need, limit, has_bfloat16=True)[-1]
    fitting = [size for size in range(1, batch_size + 1) if batch_size % size == 0 and 50 + per_image * size <= limit]
    assert last.fits == bool(fitting)
    assert last.choice.micro_batch_size == max(fitting, default=1)
    assert len({choice.micro_batch_size for choice in looked}) <= 5


def test_each_way_says_what_it_costs() -> None:
    tried = choose(WANTED, 16, need_of, 110, has_bfloat16=True)
    assert [each.as_plain()["costs"] for each in tried] == list(COSTS.values())
