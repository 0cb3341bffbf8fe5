"""The score of an epoch is found again at the very end of that epoch, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstall.training.loop.position import EpochScore, Position, forget, recall, remember

SCORED = EpochScore({"AP": 0.1 + 0.2, "AP_small": None}, 1.5)


def at_end(**changes: float) -> Position:
    position = Position(epoch=2, step_in_epoch=4, steps_per_epoch=4)
    position.now.add({"class": 0.1 + 0.7}, gradient_norm=1 / 3, rate=0.01)
    position.now.seconds = changes.get("seconds", 12.345678901234)
    return position


def again(position: Position, steps_per_epoch: int = 4) -> Position:
    """As through a checkpoint."""
    return Position.from_plain(json.loads(json.dumps(position.as_plain())), steps_per_epoch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    remember(tmp_path / "scored.json", at_end(), SCORED)
    return tmp_path / "scored.json"


def test_it_is_found_again_at_the_end_of_its_epoch(path: Path) -> None:
    assert recall(path, again(at_end())) == SCORED


def test_another_life_of_the_same_epoch_is_another(path: Path) -> None:
    assert recall(path, again(at_end(seconds=12.345678901235))) is None


def test_another_epoch_or_an_epoch_that_goes_on_has_none(path: Path) -> None:
    other, going_on = again(at_end()), again(at_end())
    other.epoch, going_on.step_in_epoch = 3, 3
    assert recall(path, other) is None and recall(path, going_on) is None


def test_with_another_batch_size_the_score_of_the_same_weights_holds(path: Path) -> None:
    assert recall(path, again(at_end(), steps_per_epoch=2)) is not None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"of": 1, "figures": {}}', "\udcff"])
def test_what_is_damaged_is_as_if_it_were_not_there(text: str, path: Path) -> None:
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert recall(path, at_end()) is None


def test_forgotten_it_is_gone(path: Path) -> None:
    forget(path)
    assert recall(path, at_end()) is None
    forget(path)
