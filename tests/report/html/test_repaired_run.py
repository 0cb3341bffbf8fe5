"""The page of a training that was repaired: all its workers over time, its plans, and why it was given up."""

from pathlib import Path
from typing import Any

from tests.diagnosis.builders import FOLDER, T0, steps
from unstall.journal.events import Event, PlanMade, PlanVerified, ProcessEnded, RepairsEnded, RunStarted, TrainingBegan
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import encode
from unstall.report.html.page import render_run
from unstall.report.story.report import read_whole


def worker(at: float, from_step: int = 0) -> list[Event]:
    started = RunStarted(at=T0 + at, mode="train", command=["worker"], folder=FOLDER, pid=1)
    return [
        started,
        TrainingBegan(at=T0 + at + 1, from_step=from_step),
        steps(0, 0, at=at + 5),
        steps(1, 20, at=at + 10, loss=1.0),
    ]


PLAN = PlanMade(
    at=T0 + 21, remedy="shrink_micro_batch", cause="device_memory_exhausted", verb="change", change={"micro_batch_size": 4},
    undo={"micro_batch_size": 8}, why="It did not fit.", attempt=1, max_attempts=10, step=20, from_step=15,
)  # fmt: skip
REPAIRED: list[Event] = [
    *worker(0),
    ProcessEnded(at=T0 + 20, exit_code=1),
    PLAN,
    *worker(30, from_step=15),
    PlanVerified(at=T0 + 41, remedy="shrink_micro_batch", how="20 steps", attempt=1),
    ProcessEnded(at=T0 + 50, exit_code=0),
]


def story_of(folder: Path, events: list[Event]) -> dict[str, Any]:
    (folder / "events-watcher-1.jsonl").write_bytes(b"".join(map(encode, events)))
    return read_whole(RunFolder(folder))


def test_the_time_of_all_workers_is_shown_and_each_restart_and_plan_is_marked(tmp_path: Path) -> None:
    story = story_of(tmp_path, REPAIRED)
    assert story["timeline"]["seconds"] == 50
    assert [(mark["kind"], mark["title"], mark["detail"]) for mark in story["timeline"]["marks"]["shown"]] == [
        ("end", "ended", "exit code 1"),
        ("plan", "plan: shrink_micro_batch", "It did not fit."),
        ("restart", "begun again", "from step 15"),
        ("plan", "helped: shrink_micro_batch", "20 steps"),
        ("end", "ended", "exit code 0"),
    ]
    assert story["state"] == "done"


def test_repairs_are_told_as_on_the_terminal(tmp_path: Path) -> None:
    page = render_run(story_of(tmp_path, REPAIRED))
    assert "1: device_memory_exhausted in step 20: micro_batch_size 8 → 4; it helped" in page


def test_that_nothing_more_is_done_is_told_with_what_a_person_may_do(tmp_path: Path) -> None:
    ended = RepairsEnded(
        at=T0 + 51,
        cause="loss_diverged",
        why="`learning_rate` was lowered three times.",
        advice="unstall train --resume a --learning-rate 0.1",
    )
    page = render_run(story_of(tmp_path, [*REPAIRED, ended]))
    assert "No further repair of loss_diverged: <code>learning_rate</code> was lowered three times." in page
    assert "unstall train --resume a --learning-rate 0.1" in page
