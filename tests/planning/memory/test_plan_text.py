"""A plan for a person: what is needed, what fits, what to type."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tests.planning.memory.test_planner import GIB, H200, SETTINGS, Known
from tests.planning.memory.test_planner import known as known  # noqa: PLC0414 a fixture
from unstall.planning.memory.planner import plan
from unstall.report.terminal.planning import show_plan


def shown(known: Known, per_image: int) -> str:
    known.per_image = per_image
    out = Console(file=io.StringIO(), width=160, highlight=False)
    show_plan({"model": SETTINGS.model, **plan(SETTINGS, H200).as_plain()}, out)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_plan_that_fits(known: Known) -> None:
    text = shown(known, GIB)
    assert "NVIDIA H200 141GB HBM3e (not here)" in text and "JAX may take 92%" in text
    assert "a batch of 16 fits as wanted. The largest micro-batch that fits so: " in text
    assert [line.split()[0] for line in text.splitlines()[3:8]] == ["weights", "gradients", "optimizer", "activations", "input"]


def test_a_plan_that_fits_with_changes_says_what_to_type_and_what_each_costs(known: Known) -> None:
    text = shown(known, 30 * GIB)
    assert "a batch of 16 fits with: --precision bfloat16 --remat --micro-batch-size 8." in text
    assert text.count("does not fit") == 3 and "8 bits of precision" in text


def test_a_plan_that_cannot_fit(known: Known) -> None:
    assert "nothing fits, not even a micro-batch of 1." in shown(known, 1000 * GIB)


@pytest.mark.parametrize("is_here", [True, False])
def test_a_host_without_room_is_no_fit_where_the_device_is(known: Known, is_here: bool) -> None:
    made = plan(SETTINGS, H200, finds_largest=False)
    made = replace(made, device=replace(H200, is_here=is_here), host=replace(made.host, used=made.host.limit))
    out = Console(file=io.StringIO(), width=160, highlight=False)
    show_plan({"model": SETTINGS.model, **made.as_plain()}, out)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    assert ("but not the memory of the host" in text) == is_here and made.host_fits == (not is_here)


def test_the_room_that_a_step_must_have_is_the_sum_of_what_is_shown(known: Known) -> None:
    made = plan(SETTINGS, H200, finds_largest=False)
    assert made.tried[-1].need_bytes == made.training.need + made.training.input + made.training.weights
    assert "with the next batch and first weights" in shown(known, GIB)


def test_a_search_that_ended_at_its_bound_says_so(known: Known) -> None:
    assert "The largest micro-batch that fits so: 1024 or more." in shown(known, 1)


@pytest.mark.parametrize("per_image", [1, 30 * GIB, 1000 * GIB])
def test_nothing_is_left_of_an_unfilled_table(known: Known, per_image: int) -> None:
    assert "None" not in shown(known, per_image)
