"""Memory of trainings, planned with one change at a time, in a process of its own."""

from __future__ import annotations

import pytest

from tests.compare.records import record
from unstall.compare.attribution_memory import ALL
from unstall.compare.differences import differences
from unstall.compare.planned import planner

SETTINGS = {
    "model": "ssd_tiny",
    "backend": "jax",
    "batch_size": 4,
    "micro_batch": 4,
    "optimizer": "sgd",
    "detector": {"image_px": [64, 64]},
}


def test_runs_that_are_no_trainings_are_not_planned() -> None:
    before, after = record(), record(batch=32)
    assert planner(before, after)(differences(before, after)) is None


@pytest.mark.jax
def test_each_change_is_planned_alone_and_all_together(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSTALL_HOME", str(tmp_path_factory.mktemp("home")))
    before = record(settings=SETTINGS)
    after = record(settings={**SETTINGS, "batch_size": 16, "micro_batch": 16, "optimizer": "adamw", "rate": 0.5})
    alone = planner(before, after)(differences(before, after))
    assert alone is not None
    assert set(alone) == {"batch", "optimizer", ALL}
    assert alone["batch"] > alone["optimizer"] > 0
    assert alone[ALL] == pytest.approx(alone["batch"] + alone["optimizer"], rel=0.2)
