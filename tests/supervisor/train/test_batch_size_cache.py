"""Sizes that fit are remembered, of a model on a machine."""

from pathlib import Path

from unstall.config.settings import Settings
from unstall.supervisor.train import training_run

SETTINGS = Settings(model="ssd_tiny", batch_size=16, micro_batch_size=4)


def test_what_fitted_is_known_again(own_home: Path) -> None:
    own_home.mkdir()
    assert training_run.recall_batch_size(SETTINGS, "card 16 GiB") is None
    training_run.remember_batch_size(SETTINGS, "card 16 GiB")
    assert training_run.recall_batch_size(Settings(model="ssd_tiny", batch_size=32), "card 16 GiB") == 4


def test_another_model_machine_or_precision_is_another_matter(own_home: Path) -> None:
    own_home.mkdir()
    training_run.remember_batch_size(SETTINGS, "card 16 GiB")
    assert training_run.recall_batch_size(SETTINGS, "card 80 GiB") is None
    assert training_run.recall_batch_size(Settings(model="ssd_tiny", precision="bfloat16"), "card 16 GiB") is None
    assert training_run.recall_batch_size(Settings(model="ssd_tiny", detector={"image_size": 640}), "card 16 GiB") is None


def test_a_file_that_cannot_be_read_is_no_reason_not_to_train(own_home: Path) -> None:
    own_home.mkdir()
    training_run.get_cache_path().write_text("{ half of it")
    assert training_run.recall_batch_size(SETTINGS, "card") is None
    training_run.remember_batch_size(SETTINGS, "card")
    assert training_run.recall_batch_size(SETTINGS, "card") == 4


def test_a_machine_is_named_by_what_there_is_to_compute_on() -> None:
    assert "GiB" in training_run.describe_machine()
