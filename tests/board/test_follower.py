"""The story of a run followed while it is written: what is new is read, verdicts stand as the terminal would tell them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.board.run_folders import Written, finished, stuck, training
from unstall.board.follower import MAX_FOLLOWED, Follower
from unstall.board.rows import Reader, read_row
from unstall.journal.events import ProcessEnded, StallEnded, VerdictReached
from unstall.report.story.report import read_whole


@pytest.fixture
def follower(monkeypatch: pytest.MonkeyPatch) -> Follower:
    monkeypatch.setattr("unstall.board.follower.LOOK_EVERY_S", 0.0)
    return Follower()


def story(follower: Follower, written: Written) -> dict[str, Any]:
    return follower.follow(written.run, read_row(written.run))[1]


def test_the_story_is_that_of_the_report(tmp_path: Path, follower: Follower) -> None:
    run = finished(tmp_path, "done")
    result = follower.follow(run, read_row(run))[1]
    assert result == read_whole(run)


def test_steps_that_are_written_are_in_the_next_story(tmp_path: Path, follower: Follower) -> None:
    written = training(tmp_path)
    assert story(follower, written)["progress"]["step"] == 570
    written.steps(571, 580, 61)
    assert story(follower, written)["progress"]["step"] == 580


def test_a_stall_appears_and_goes_again(tmp_path: Path, follower: Follower) -> None:
    written = training(tmp_path, ago=50)
    assert story(follower, written)["state"] == "training"
    written.stalls(60, 69)
    result = story(follower, written)
    assert (result["state"], result["stalls"][0]["goes_on"]) == ("stuck", True)
    written.write(StallEnded(at=time.time()))
    result = story(follower, written)
    assert (result["state"], result["timeline"]["marks"]["shown"][-1]["kind"]) == ("training", "pause")


def test_the_end_is_told_and_a_resumed_run_begins_again(tmp_path: Path, follower: Follower) -> None:
    written = training(tmp_path)
    story(follower, written)
    written.write(ProcessEnded(at=time.time(), exit_code=1))
    assert story(follower, written)["state"] == "failed"
    written.began = time.time()
    written.starts(mode="train").steps(0, 4, 1)
    assert story(follower, written)["state"] in {"training", "starting"}


def test_a_page_that_would_be_the_same_is_not_made_again(tmp_path: Path, follower: Follower) -> None:
    run = finished(tmp_path, "done")
    row = Reader(run).read()
    page = follower.follow(run, row)[0]
    assert follower.follow(run, row)[0] is page


def test_a_verdict_that_was_reached_once_on_a_run_that_moves_is_not_shown(tmp_path: Path, follower: Follower) -> None:
    """The loss is not finite: certain, but as long as the watcher has said it only once, it may be taken back."""
    written = training(tmp_path, ago=20)
    for second in range(60, 78):
        written.steps(571 + second, 571 + second, second, loss=float("nan"))
    result = story(follower, written)
    assert result["verdicts"] == [] and result["state"] == "training"
    causes = [verdict["cause"] for verdict in read_whole(written.run)["verdicts"]]
    written.write(*(VerdictReached(at=time.time() - 10, cause=cause) for cause in causes))
    assert [verdict["cause"] for verdict in story(follower, written)["verdicts"]] == causes


def test_only_so_many_runs_are_held_in_memory(tmp_path: Path, follower: Follower) -> None:
    runs = [finished(tmp_path, f"run-{number}") for number in range(MAX_FOLLOWED + 2)]
    pages = [follower.follow(run, read_row(run))[0] for run in runs]
    assert follower.follow(runs[-1], read_row(runs[-1]))[0] is pages[-1]
    assert follower.follow(runs[0], read_row(runs[0]))[0] is not pages[0]


def test_what_is_stuck_is_said_at_the_top_of_its_page_and_in_the_title(tmp_path: Path, follower: Follower) -> None:
    written = stuck(tmp_path)
    page, _ = follower.follow(written.run, read_row(written.run))
    assert 'role="alert">✖ This run is stuck' in page and "<title>stuck" in page
