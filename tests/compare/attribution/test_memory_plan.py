"""Memory of trainings, planned with one change at a time, in a process of its own."""

from __future__ import annotations

import pytest

from tests.compare.records import record
from unstall.compare.attribution.memory import ALL, create_planner
from unstall.compare.differences.finder import find_differences

SETTINGS = {
    "model": "ssd_tiny",
    "backend": "jax",
    "batch_size": 4,
    "micro_batch_size": 4,
    "optimizer": "sgd",
    "detector": {"image_size": [64, 64]},
}


def test_runs_that_are_no_trainings_are_not_planned() -> None:
    before, after = record(), record(batch=32)
    assert create_planner(before, after)(find_differences(before, after)) is None


@pytest.mark.jax
def test_what_a_change_adds_is_planned_and_what_needs_no_memory_is_not_asked_for() -> None:
    before = record(settings=SETTINGS)
    after = record(settings={**SETTINGS, "batch_size": 16, "micro_batch_size": 16, "learning_rate": 0.5})
    alone = create_planner(before, after)(find_differences(before, after))
    assert alone is not None
    assert set(alone) == {"batch", ALL}
    assert alone["batch"] == alone[ALL] > 0
