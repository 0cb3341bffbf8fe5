"""dataset_exhausted: the input ended before the steps that were asked for."""

from tests.diagnosis.builders import FOLDER, T0, journal, started, steps
from unstall.diagnosis.causes import dataset_exhausted
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import FitBegan, InputDescribed, WarningShown

WARNED = WarningShown(
    at=T0 + 20, source="warnings", message="Your input ran out of data; interrupting training. Make sure that …"
)
SOURCE = InputDescribed(at=T0 + 4, kind="generator")


def fit(epochs: int | None = 5, steps_per_epoch: int | None = 100) -> FitBegan:
    return FitBegan(
        at=T0 + 5, api="keras", backend="jax", epochs=epochs, steps_per_epoch=steps_per_epoch, where=f"{FOLDER}/train.py:30"
    )


def test_found_with_the_steps_made_and_asked_for() -> None:
    verdict = dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 129, at=19), WARNED))
    assert isinstance(verdict, Found)
    assert "ended after 130 of the 500 steps" in verdict.summary
    assert verdict.where == "train.py:30"


def test_clear_where_keras_said_nothing() -> None:
    assert isinstance(dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 129, at=19))), Clear)


def test_clear_where_all_steps_were_made_and_the_end_came_exactly() -> None:
    assert isinstance(dataset_exhausted.examine(journal(started(), SOURCE, fit(), steps(0, 499, at=19), WARNED)), Clear)


def test_clear_where_nobody_said_how_many_steps_there_should_be() -> None:
    assert isinstance(
        dataset_exhausted.examine(journal(started(), SOURCE, fit(steps_per_epoch=None), steps(0, 99, at=19), WARNED)), Clear
    )


def test_unknown_for_ones_own_loop() -> None:
    loop = FitBegan(at=T0 + 5, api="own_loop", backend="tensorflow")
    assert isinstance(dataset_exhausted.examine(journal(started(), loop, steps(0, 99, at=19))), Unknown)
