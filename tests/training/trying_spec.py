"""Steps on trial: taken back at will, at any rate; and what the range test and the check of the rate make of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from unstall.preflight.answers import Fits, Refuses, Unknown
from unstall.preflight.checks import learning_rate
from unstall.preflight.context import Context
from unstall.settings import Settings, changed
from unstall.settings_sources import resolve
from unstall.training.sweep import sweep
from unstall.training.trying import Trial


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def settings() -> Settings:
    return resolve({"shapes": 16, "batch_size": 2, "workers": 1, "detector": {"image_px": [64, 64]}}).settings


@pytest.fixture(scope="module")
def trial(settings: Settings, own_cache: Any, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(settings, tmp_path_factory.mktemp("aside"))


def test_every_step_can_be_taken_back(trial: Trial) -> None:
    with trial.batches() as batches:
        batch = next(batches)
    trial.begin_again()
    first = [trial.loss_at(1e-3, batch) for _ in range(3)]
    trial.begin_again()
    assert [trial.loss_at(1e-3, batch) for _ in range(3)] == first
    assert first[2] < first[0]


def test_the_rate_is_the_one_that_is_asked_for(trial: Trial) -> None:
    with trial.batches() as batches:
        batch = next(batches)
    after = []
    for rate in (0.0, 1e-3):
        trial.begin_again()
        trial.loss_at(rate, batch)
        after.append(trial.loss_at(0.0, batch))
    assert after[1] < after[0]


def test_a_sweep_stops_where_the_loss_diverges(settings: Settings, tmp_path: Path) -> None:
    without_limits = changed(settings, {"optimizer": "sgd", "clip_norm": 0.0})
    told = sweep(without_limits, least=1e-3, most=1e3, steps=20, aside=tmp_path)
    assert len(told["rates"]) == len(told["losses"]) == len(told["smoothed"]) < 20
    assert not math.isfinite(told["losses"][-1]) or told["losses"][-1] > told["losses"][0]


def test_the_check_of_the_rate_tells_a_good_one_from_one_that_is_far_too_high(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_rate, "MOST_S", math.inf)  # whatever the machine's load
    good = Context(settings, tmp_path)
    assert isinstance(learning_rate.look(good), Fits) and (good.measured_images_per_s or 0) > 0
    bad = Context(changed(settings, {"rate": 100.0, "optimizer": "sgd", "clip_norm": 0.0}), tmp_path)
    assert isinstance(learning_rate.look(bad), Refuses)


def test_steps_that_would_take_too_long_are_not_made(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_rate, "MOST_S", 0.0)
    assert isinstance(learning_rate.look(Context(settings, tmp_path)), Unknown)
