"""The worker of `unstall train`, for real: the smallest detector on a few small pictures, in processes of its own."""

from __future__ import annotations

import csv
import json
import math
import shutil
import signal
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.resume import TINY, differences, live, new_run

from unstall.base.exit_codes import DONE, INTERRUPTED
from unstall.config.settings import apply_changes
from unstall.detectors.weights.description import read_description
from unstall.journal.events import (
    CheckpointCompleted,
    EpochEnded,
    EpochScored,
    FitBegan,
    InputMeasured,
    PhaseBegan,
    ProbeFailed,
    StepsEnded,
    TrainingBegan,
    TrainingEnded,
)
from unstall.journal.reader import Journal, Tail, read_folder
from unstall.journal.run_folder import RunFolder
from unstall.training.checkpoint.store import Checkpoints

pytestmark = pytest.mark.torch  # it compiles nothing: a process of it takes seconds. The benchmark has each backend
STEPS = 27  # 3 epochs of 36 pictures, 4 at a time
SETTINGS = apply_changes(TINY, {"backend": "torch", "epochs": 3, "eval_interval": 2, "checkpoint_interval_steps": 4})

NewRun = Callable[..., RunFolder]


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield lambda name, **changes: new_run(folder / name, apply_changes(SETTINGS, changes))


@pytest.fixture(scope="module")
def done(make_run: NewRun) -> RunFolder:
    """A run that nobody disturbed."""
    run = make_run("undisturbed", tensorboard=True)
    assert live(run).exit_code == DONE, output(run)
    return run


def output(run: RunFolder) -> str:
    return (run.path / "output.txt").read_text()


def journal(run: RunFolder) -> Journal:
    return read_folder(run.path)


def rows(run: RunFolder) -> list[dict[str, str]]:
    with run.history_path.open() as file:
        return list(csv.DictReader(file))


# --- a run from its beginning to its end ---


def test_it_leaves_weights_score_history_and_pictures(done: RunFolder) -> None:
    for path in (done.best_weights_path, done.last_weights_path):
        _, description = read_description(path)
        assert description.variant == "ssd_tiny" and len(description.class_names) == 6 and description.holds == "detector"
    assert [row["epoch"] for row in rows(done)] == ["1", "2", "3"]
    losses = [float(row["loss"]) for row in rows(done)]
    assert losses[2] < losses[0]
    score = json.loads(done.score_path.read_text())
    (best,) = (row for row in rows(done) if int(row["epoch"]) == score["epoch"])
    assert best["is_best"] == "True" and float(best["AP"]) == score["figures"]["AP"]
    assert len(list(done.predictions_path.glob("*.png"))) == 6


def test_it_scores_as_often_as_it_is_told_to_and_at_the_end(done: RunFolder) -> None:
    assert [bool(row["AP"]) for row in rows(done)] == [False, True, True]
    assert [event.epoch for event in journal(done).of(EpochScored)] == [1, 2]


def made_between(run: RunFolder, step: int) -> tuple[float, float]:
    """When so many steps were done: the ends of the stretch of steps, as it was told, with the last of them."""
    events = [event for event in journal(run).of(StepsEnded) if event.phase == "train"]
    (number,) = (number for number, event in enumerate(events) if event.first < step <= event.last + 1)
    return events[number - 1].at if number else 0.0, events[number].at


def test_its_checkpoints_come_by_steps_and_at_the_end_of_an_epoch(done: RunFolder) -> None:
    written = journal(done).of(CheckpointCompleted)
    steps = [event.step for event in written]
    assert steps == sorted(steps) and {4, 9, 18, 27} <= set(steps)
    for due in range(4, STEPS, 4):
        if due not in steps:  # then another was on its way, and it came after that
            begin, end = made_between(done, due)
            assert any(event.at - event.seconds <= end and begin <= event.at for event in written), due
            assert any(due < step for step in steps)
    paths = Checkpoints(done.checkpoints_path, 1).paths()
    assert [path.name for path in paths] == [f"step-{step:09}" for step in (steps[-1], steps[-2])]


def test_the_watching_half_sees_its_steps_its_phases_and_its_input(done: RunFolder) -> None:
    seen = journal(done)
    (began,), (fit,), (ended,) = seen.of(TrainingBegan), seen.of(FitBegan), seen.of(TrainingEnded)
    assert (began.model, began.backend, began.examples, began.steps_per_epoch) == ("ssd_tiny", "torch", 36, 9)
    assert (fit.api, fit.backend, fit.epochs) == ("unstall", "torch", 3)
    assert (ended.step, ended.exit_name) == (STEPS, "done")
    steps = [event for event in seen.of(StepsEnded) if event.phase == "train"]
    assert steps[0].first == 0 and steps[-1].last == STEPS - 1
    assert sum(event.last - event.first + 1 for event in steps) == STEPS
    assert all(event.waited_steps for event in steps)
    assert any(event.loss is not None and math.isfinite(event.loss) for event in steps)
    assert {"fit", "first_step", "train", "validate", "save", "predict"} <= {event.phase for event in seen.of(PhaseBegan)}
    assert [event.epoch for event in seen.of(EpochEnded)] == [0, 1, 2] and seen.of(InputMeasured)
    assert not seen.of(ProbeFailed)


def test_tensorboard_has_scalars_and_pictures(done: RunFolder) -> None:
    (path,) = done.tensorboard_path.glob("events.out.tfevents.*")
    raw = path.read_bytes()
    assert all(name in raw for name in (b"train/loss", b"train/learning_rate", b"eval/AP50", b"time/eval_s", b".jpg"))


def test_without_a_terminal_it_prints_a_line_for_each_epoch(done: RunFolder) -> None:
    lines = [line for line in output(done).splitlines() if line.startswith("epoch ")]
    assert [line.split()[1] for line in lines] == ["1/3", "2/3", "3/3"] and "the best so far" in lines[1]


# --- killed, ended, extended ---


@pytest.fixture(scope="module")
def disturbed(make_run: NewRun) -> RunFolder:
    """The same, killed once and once asked to end."""
    run = make_run("disturbed")
    assert live(run, at_step=14).exit_code == -signal.SIGKILL
    kept = Checkpoints(run.checkpoints_path, 1).newest()
    # That of step 12 may have been on its way, and on a busy machine the signal arrives some steps later than it was due.
    assert kept is not None and 9 <= kept.step < STEPS
    asked = live(run, at_step=22, by=signal.SIGTERM)
    assert asked.exit_code == INTERRUPTED and asked.from_step == kept.step, output(run)
    newest = Checkpoints(run.checkpoints_path, 1).newest()
    assert newest is not None and newest.step >= 22  # what was done until then is kept
    last = live(run)
    assert last.exit_code == DONE and last.from_step == newest.step, output(run)
    return run


def test_a_run_that_was_killed_ends_with_the_bits_of_one_that_never_was(done: RunFolder, disturbed: RunFolder) -> None:
    assert differences(done, disturbed) == []
    for path in ("best_weights_path", "last_weights_path"):
        assert getattr(done, path).read_bytes() == getattr(disturbed, path).read_bytes()


def test_a_run_is_extended_by_more_epochs(make_run: NewRun, disturbed: RunFolder) -> None:
    plain = {**disturbed.read_settings(), "epochs": 4}
    disturbed.write_settings(plain)
    life = live(disturbed)
    assert life.exit_code == DONE and life.from_step == STEPS
    assert [row["epoch"] for row in rows(disturbed)] == ["1", "2", "3", "4"]
    assert "begun for 3 epochs and has 4 now" in output(disturbed)


def test_an_epoch_that_was_scored_is_not_scored_again_when_the_run_goes_on_from_its_end(disturbed: RunFolder) -> None:
    entries = [event for path in disturbed.path.glob("events-probe-*.jsonl") for event in Tail(path).read()]
    assert sorted(event.epoch for event in entries if isinstance(event, EpochScored)) == [1, 2, 3]
    assert sorted(event.epoch for event in entries if isinstance(event, EpochEnded)) == [0, 1, 2, 3]


# --- what cannot go on ---


def test_a_mistake_in_the_settings_is_one_line_and_its_own_exit_code(make_run: NewRun) -> None:
    run = make_run("mistaken", augmentations=["horizontal_flop"])
    assert live(run).exit_code == 2
    (line,) = [line for line in output(run).splitlines() if line.startswith("unstall: ")]
    assert "Did you mean 'horizontal_flip'?" in line and "Traceback" not in output(run)


def test_a_worker_whose_checkpoints_are_all_damaged_stops_and_keeps_what_the_run_has(make_run: NewRun, done: RunFolder) -> None:
    """As when a supervisor starts it again: nobody has looked before."""
    run = make_run("damaged")
    shutil.copytree(done.path, run.path, dirs_exist_ok=True)
    for path in run.checkpoints_path.iterdir():
        (path / "arrays.bin").write_bytes(b"torn")
    kept = {path: path.read_bytes() for path in (run.best_weights_path, run.last_weights_path, run.history_path, run.score_path)}
    assert live(run).exit_code == 2
    assert {path: path.read_bytes() for path in kept} == kept
    said = output(run).partition("unstall: ")[2]
    assert "all of its checkpoints are damaged" in said and said.count("arrays.bin has 4 bytes") == 2, said
    assert "best.safetensors, last.safetensors, history.csv (3 epochs)" in said and "Traceback" not in said
