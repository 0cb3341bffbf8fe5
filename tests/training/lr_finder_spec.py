"""Steps on trial: taken back at will, at any rate; and what the range test and the check of the rate make of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from unstall.config.sources import resolve
from unstall.planning.preflight.check import CheckError, CheckOk, CheckUnknown, Context
from unstall.planning.preflight.checks import learning_rate
from unstall.training.lr_finder import Trial, run_range_test, space_rates


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def trial(own_cache: Any, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    small = {
        "synthetic_images": 16,
        "batch_size": 2,
        "num_input_workers": 1,
        "detector": {"image_size": [64, 64], "stem_channels": 4},
    }
    return Trial(resolve(small).settings, tmp_path_factory.mktemp("aside"))


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


def test_a_range_test_stops_where_the_loss_diverges(trial: Trial) -> None:
    result = run_range_test(trial, space_rates(1e-2, 1e4, 20))
    assert len(result["learning_rates"]) == len(result["losses"]) == len(result["smoothed"]) < 20
    assert not math.isfinite(result["losses"][-1]) or result["losses"][-1] > result["losses"][0]


def test_the_check_of_the_rate_tells_a_good_one_from_one_that_is_far_too_high(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_rate, "MAX_S", math.inf)  # whatever the machine's load
    context = Context(trial.settings, tmp_path)
    assert isinstance(learning_rate.try_rate(trial, 2e-3, context), CheckOk) and (context.measured_images_per_s or 0) > 0
    trial.begin_again()
    assert isinstance(learning_rate.try_rate(trial, 100.0, context), CheckError)


def test_steps_that_would_take_too_long_are_not_made(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_rate, "MAX_S", 0.0)
    assert isinstance(learning_rate.try_rate(trial, 1e-3, Context(trial.settings, tmp_path)), CheckUnknown)
