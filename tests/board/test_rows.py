"""One run as a row: of one that goes on, one that has ended, one that is damaged, one that is being written."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.board.run_folders import Written, finished, stuck, training
from unstall.board.rows import TAIL_BYTES, Reader, read_row
from unstall.journal.events import StallEnded, TrainingBegan


def test_a_run_that_trains(tmp_path: Path) -> None:
    row = read_row(training(tmp_path).run)
    assert (row["state"], row["tone"], row["is_live"], row["verdict"]) == ("training", "good", True, None)
    assert (row["progress"]["step"], row["progress"]["steps"]) == (571, 1000)
    assert row["speed"] == {"value": pytest.approx(10), "unit": "steps/s"}
    assert row["remaining_s"] == pytest.approx(43, abs=2)


def test_a_run_that_stands_still_with_a_verdict_is_an_alarm(tmp_path: Path) -> None:
    row = read_row(stuck(tmp_path).run)
    assert (row["state"], row["tone"]) == ("stuck", "alarm")
    assert row["verdict"]["cause"] == "generator_blocked" and row["verdict"]["summary"] == "It waits for the network."
    assert row["remaining_s"] is None and row["speed"] is None


def test_a_short_pause_without_a_verdict_is_no_alarm(tmp_path: Path) -> None:
    written = training(tmp_path, ago=12).stalls(60, 69)
    assert read_row(written.run)["tone"] != "alarm"
    written.write(StallEnded(at=time.time()))
    assert (read_row(written.run)["state"], read_row(written.run)["note"]) == ("training", None)


def test_a_verdict_on_a_run_that_moves_is_told_when_it_was_reached_twice(tmp_path: Path) -> None:
    written = training(tmp_path, ago=12).verdict(60, "input_starved", state="training", effect="slows")
    now = time.time()
    os.utime(written.run.story_path, (now, written.began + 60.1))
    assert read_row(written.run)["verdict"] is None
    os.utime(written.run.story_path, (now, written.began + 66))
    row = read_row(written.run)
    assert (row["state"], row["tone"], row["verdict"]["cause"]) == ("slow", "warn", "input_starved")


def test_a_run_that_has_ended_is_told_by_its_story(tmp_path: Path) -> None:
    verdict = {"cause": "path_missing", "certainty": "certain", "summary": "No such file.", "where": "a.py:3", "effect": "stops"}
    run = finished(tmp_path, "failed", "failed", verdicts=[verdict])
    for path in run.path.glob("events-*"):
        path.write_bytes(b"not read\n")
        os.utime(path, (1, 1))
    reader = Reader(run)
    row = reader.read()
    assert (row["state"], row["tone"], row["verdict"]["cause"], row["seconds"]) == ("failed", "bad", "path_missing", 20.0)
    assert reader.is_over


def test_a_run_whose_watcher_was_killed_has_ended_and_nobody_saw_how(tmp_path: Path) -> None:
    row = read_row(training(tmp_path).rests().run)
    assert (row["state"], row["is_live"], row["note"]) == ("ended", False, "nobody saw how it ended")


def test_a_line_that_is_being_written_waits_for_its_rest(tmp_path: Path) -> None:
    written = training(tmp_path)
    reader = Reader(written.run)
    before = reader.read()["progress"]["step"]
    line = written.steps(571, 580, 61).journal.read_bytes().splitlines(keepends=True)[-1]
    whole = written.journal.read_bytes()
    written.journal.write_bytes(whole[: -len(line) // 2])
    assert reader.read()["progress"]["step"] == before
    written.journal.write_bytes(whole)
    assert reader.read()["progress"]["step"] == 581


def test_of_a_long_journal_the_begin_and_the_end_are_read(tmp_path: Path) -> None:
    written = Written(tmp_path, "long", time.time() - 9000).starts().fits(steps_per_epoch=10_000)
    for second in range(1, 8000):
        written.steps(second, second, second)
    assert written.journal.stat().st_size > 4 * TAIL_BYTES
    row = read_row(written.run)
    assert (row["progress"]["step"], row["progress"]["steps"]) == (8000, 100_000)
    assert row["command"] == ["python", "train.py"]
    assert row["remaining_s"] == pytest.approx(92_000, rel=0.01)


def test_a_training_of_ours_that_was_resumed_and_ended_tells_all_its_steps(tmp_path: Path) -> None:
    written = Written(tmp_path, "resumed").starts(mode="train")
    began = TrainingBegan(at=written.began + 1, model="ssd_tiny", from_step=500, epochs=10, steps_per_epoch=100, batch_size=8)
    written.write(began).steps(0, 99, 20).ends(30, exit_code=75)
    written.run.write_settings({"model": "ssd_tiny"})
    written.run.write_story({"state": "interrupted", "verdicts": [], "progress": {"step": 99}, "ended": {"exit_code": 75}})
    row = read_row(written.rests().run)
    assert (row["state"], row["model"], row["progress"]["step"]) == ("interrupted", "ssd_tiny", 600)


@pytest.mark.parametrize(
    "line",
    [
        '{"event":"StepsEnded","at":"soon","first":0,"last":1}',
        '{"event":"StepsEnded","at":1,"first":"a","last":{}}',
        '{"event":"RunStarted","at":1,"pid":"x","command":7}',
        '{"event":"StallBegan","at":2,"since":null,"phase":"train"}',
    ],
)
def test_a_journal_with_odd_values_is_said_and_harms_no_other(line: str, tmp_path: Path) -> None:
    written = training(tmp_path)
    with written.journal.open("a") as file:
        file.write(line + "\n" + line + "\n")
    row = read_row(written.run)
    assert row["run"] == "training" and row["state"] in {"unknown", "training", "slow", "ended", "starting", "running"}


def test_an_empty_folder_and_a_story_that_is_no_story_are_unknown(tmp_path: Path) -> None:
    written = Written(tmp_path, "empty")
    os.utime(written.run.path, (1, 1))
    assert read_row(written.run)["state"] == "unknown"
    written.run.story_path.write_text('{"verdicts": [{"no": "cause"}], "ended": {}, "progress": []}')
    assert read_row(written.run)["state"] == "unknown"


def test_a_verdict_of_a_stall_goes_when_the_run_moves_again(tmp_path: Path) -> None:
    written = stuck(tmp_path)
    assert read_row(written.run)["verdict"] is not None
    written.write(StallEnded(at=time.time())).steps(571, 580, 72)
    row = read_row(written.run)
    assert (row["state"], row["tone"], row["verdict"]) == ("training", "good", None)


def test_a_pause_of_a_run_that_is_only_slow_is_no_alarm(tmp_path: Path) -> None:
    written = training(tmp_path, ago=14).verdict(40, "input_starved", state="training", effect="slows").stalls(60, 69)
    row = read_row(written.run)
    assert (row["state"], row["tone"], row["verdict"]["cause"]) == ("slow", "warn", "input_starved")
