"""One Settings is one run: what is wrong is refused by name, range and value, and JSON holds them whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings, apply_changes, as_json, as_plain, from_plain, list_names


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"learning_ratee": 1}, "no setting 'learning_ratee'. Did you mean 'learning_rate'?"),
        ({"lr0": 1}, "no setting 'lr0'. Use 'learning_rate'."),
        ({"imgsz": 640}, "no setting 'imgsz'. Use 'detector.image_size'."),
        ({"learning_rate": "fast"}, "learning_rate: expected a number from 0 to 100. Received: 'fast'"),
        ({"learning_rate": float("nan")}, "learning_rate: expected a number"),
        ({"epochs": 0}, "epochs: expected a whole number from 1"),
        ({"epochs": 1.5}, "epochs: expected a whole number"),
        ({"epochs": True}, "epochs: expected a whole number"),
        ({"backend": "tf"}, "backend: expected one of auto, tensorflow, jax, torch. Received: 'tf'"),
        ({"augmentations": "mosaic"}, "augmentations: expected a list"),
        ({"remat": 1}, "remat: expected true or false"),
        ({"detector": 3}, "detector: expected a table"),
        ({"batch_size": 16, "micro_batch_size": 5}, "micro_batch_size: expected a divisor of batch_size (16). Received: 5"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_was_expected(values: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        from_plain(values, "run.toml: ")
    assert str(refused.value).startswith("run.toml: ")
    assert words in str(refused.value)


def test_json_holds_them_whole() -> None:
    settings = Settings(detector={"image_size": [64, 96]}, augmentations=("horizontal_flip", "mosaic"), micro_batch_size=4)
    assert from_plain(json.loads(as_json(settings))) == settings
    assert settings.micro_batches == 4


@given(st.sampled_from([name for name in list_names() if name != "micro_batch_size"]), st.integers(1, 50))
def test_a_change_that_is_taken_back_leaves_the_same(name: str, value: int) -> None:
    before = Settings()
    try:
        after = apply_changes(before, {name: value})
    except InvalidInputError:
        return
    assert apply_changes(after, {name: as_plain(before)[name]}) == before


# --- several workers ---


def test_a_batch_that_workers_cannot_share_is_refused_with_the_nearest_that_they_can() -> None:
    with pytest.raises(
        InvalidInputError, match=r"batch_size: expected a multiple of num_workers \(4\).* Nearest: 8 or 12\. Received: 10"
    ):
        Settings(batch_size=10, num_workers=4)
    with pytest.raises(InvalidInputError, match=r"Nearest: 4\. Received: 2"):
        Settings(batch_size=2, num_workers=4)


def test_a_micro_batch_is_of_one_worker() -> None:
    settings = Settings(batch_size=16, num_workers=2, micro_batch_size=4)
    assert (settings.batch_share, settings.at_once, settings.micro_batches) == (8, 4, 2)
    assert Settings(batch_size=16, num_workers=4, micro_batch_size=8).micro_batches == 1, "its share is less than what fits"
    with pytest.raises(
        InvalidInputError, match=r"micro_batch_size: expected a divisor of batch_size / num_workers \(16 / 2 = 8\)\. Received: 3"
    ):
        Settings(batch_size=16, num_workers=2, micro_batch_size=3)


def test_what_one_worker_needs_and_the_same_training_by_one() -> None:
    settings = Settings(batch_size=16, num_workers=2, micro_batch_size=4)
    assert settings.split_for_one_worker() == Settings(batch_size=8, micro_batch_size=4)
    assert settings.alone() == Settings(batch_size=16, micro_batch_size=4)
    assert Settings(batch_size=16, num_workers=2).split_for_one_worker() == Settings(batch_size=8)
    assert Settings(batch_size=16, num_workers=2).alone() == Settings(batch_size=16, micro_batch_size=8)
