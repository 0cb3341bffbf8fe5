"""How far a run is: exact when it goes on, and a history without a row twice."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from unstall.training.loop.position import History, Position


def taught(position: Position, *losses: float) -> Position:
    for loss in losses:
        position.step_in_epoch += 1
        position.now.add({"class": loss, "box": loss / 3}, gradient_norm=loss, rate=0.1)
    return position


def again(position: Position, steps_per_epoch: int = 3) -> Position:
    """As through a checkpoint."""
    return Position.from_plain(json.loads(json.dumps(position.as_plain())), steps_per_epoch)


def test_the_means_of_an_epoch_that_was_interrupted_are_the_same_to_the_bit() -> None:
    losses = (0.1, 0.2, 0.7)
    whole = taught(Position(steps_per_epoch=3), *losses)
    parted = taught(again(taught(Position(steps_per_epoch=3), *losses[:1])), *losses[1:])
    assert whole.end_epoch({}, 0.0) == parted.end_epoch({}, 0.0)
    assert whole.as_plain() == again(whole).as_plain() == parted.as_plain()


def test_a_row_has_the_sum_of_the_mean_losses_and_the_figures() -> None:
    position = taught(Position(steps_per_epoch=2), 1.0, 2.0)
    row = position.end_epoch({"AP": 0.5, "AP_small": None}, 2.0)
    assert row["class_loss"] == 1.5 and row["loss"] == pytest.approx(2.0) and row["AP"] == 0.5 and row["step"] == 2
    assert (position.epoch, position.step_in_epoch, position.step, position.now.applied) == (1, 0, 2, 0)


def test_an_epoch_of_which_no_update_was_applied_has_no_loss() -> None:
    assert Position(steps_per_epoch=2).end_epoch({}, 0.0)["loss"] is None


def scored(*figures: float | None) -> Position:
    position = Position()
    for figure in figures:
        position.end_epoch({"AP": figure}, 0.0)
    return position


def test_the_best_epoch_is_the_first_of_the_highest() -> None:
    position = scored(0.1, 0.3, 0.2, 0.3)
    assert [row["is_best"] for row in position.history] == [True, True, False, False]
    assert position.best_epoch == 1 and position.epochs_without_improvement() == 2


def test_where_nothing_can_be_found_the_last_epoch_is_kept_nobody_loses_patience_and_any_score_is_better() -> None:
    position = scored(None, None, None)
    assert position.best_epoch == 2 and position.epochs_without_improvement() == 0
    assert scored(None, 0.0, None).best_epoch == 1


def test_epochs_that_were_not_scored_are_neither_better_nor_worse() -> None:
    position = Position()
    position.end_epoch({}, 0.0)
    assert position.best_epoch is None and position.epochs_without_improvement() == 0 and not position.history[0]["is_best"]


def test_with_another_number_of_steps_it_goes_on_at_the_same_share_of_the_epoch() -> None:
    position = again(Position(epoch=2, step_in_epoch=50, steps_per_epoch=100), steps_per_epoch=10)
    assert (position.epoch, position.step_in_epoch) == (2, 5)


def test_steps_are_counted_on_so_that_its_next_checkpoint_is_the_newest() -> None:
    position = again(Position(epoch=2, step_in_epoch=50, steps_per_epoch=100), steps_per_epoch=10)
    assert position.step == 250
    position.step_in_epoch += 5
    assert position.end_epoch({}, 0.0)["step"] == position.step == 255
    assert again(position, 10).step == again(position, 100).step == 255


def test_a_position_of_an_older_version_is_read() -> None:
    plain = Position(epoch=1, step_in_epoch=2, steps_per_epoch=3).as_plain()
    del plain["more_steps"]
    assert Position.from_plain(plain, 3).step == 5


def in_file(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_history_has_each_epoch_once_and_a_column_that_comes_later(tmp_path: Path) -> None:
    history, position = History(tmp_path / "history.csv"), Position(steps_per_epoch=1)
    for figures in ({}, {}, {"AP": 0.25}, {}):
        taught(position, 0.1 + 0.2).end_epoch(figures, 0.0)  # type: ignore[arg-type]
        history.write(position.history)
        rows = in_file(tmp_path / "history.csv")
        assert [row["epoch"] for row in rows] == [str(epoch + 1) for epoch in range(position.epoch)]
    assert [row["AP"] for row in rows] == ["", "", "0.25", ""]
    assert float(rows[3]["class_loss"]) == 0.1 + 0.2


def test_a_run_that_goes_on_writes_the_history_as_its_checkpoint_has_it(tmp_path: Path) -> None:
    """The rows behind the checkpoint are gone, and so is one that was cut off."""
    path, position = tmp_path / "history.csv", Position(steps_per_epoch=1)
    for _ in range(2):
        taught(position, 1.0).end_epoch({}, 0.0)
    checkpoint = again(position, 1)
    taught(position, 1.0).end_epoch({}, 0.0)
    History(path).write(position.history)
    with path.open("a") as file:
        file.write("4,4,1.")
    taught(checkpoint, 7.0).end_epoch({}, 0.0)
    History(path).write(checkpoint.history)
    assert [row["epoch"] for row in in_file(path)] == ["1", "2", "3"] and in_file(path)[2]["class_loss"] == "7.0"
