"""Everything that a training needs before its first step, from the settings, and put where the newest checkpoint says."""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import unstall
from unstall.backends import devices, running_backend
from unstall.data.pipeline import Pipeline
from unstall.journal.events import TrainingBegan
from unstall.memory.layers import batch_shapes
from unstall.report.counted import counted
from unstall.report.progress import shown_progress
from unstall.report.training_line import TrainingLine, say
from unstall.runs import RunFolder
from unstall.settings import Settings, as_plain
from unstall.training import preparing, telling
from unstall.training.board import Board
from unstall.training.checkpoint import Checkpoints, Rhythm, Saved
from unstall.training.detecting import Detecting
from unstall.training.fingerprint import fingerprint_of
from unstall.training.interruption import Interruption
from unstall.training.judging import Judge
from unstall.training.lessons import Lessons, lessons
from unstall.training.position import Position
from unstall.training.results import Results
from unstall.training.scoring import Scoring
from unstall.training.step import Step
from unstall.training.telling import tell

PAGE = 4096  # bytes, as /proc counts them


@dataclass
class Begun:
    run: RunFolder
    settings: Settings
    interruption: Interruption
    backend: str
    lessons: Lessons
    pipeline: Pipeline
    step: Step
    at: Position
    judge: Judge
    checkpoints: Checkpoints
    rhythm: Rhythm
    results: Results
    scoring: Scoring
    board: Board | None
    line: TrainingLine
    needed_by_weights: dict[str, Any]  # settings of the detector
    doing: str = "first_step"  # first_step | train | validate | save


def begin(run: RunFolder, settings: Settings, interruption: Interruption) -> Begun:
    """The line is not shown yet: `with begun.line` does that."""
    checkpoints = Checkpoints(run.checkpoints_path, settings.keep_checkpoints)
    saved = checkpoints.newest()
    needed = None if saved is None else saved.position["needed_by_weights"]
    with shown_progress() as progress:
        learned = lessons(settings, preparing.image_px(settings, needed), run.path, progress)
    detector = preparing.built(settings, learned.classes, say, needed)
    pipeline = preparing.pipeline(settings, detector, learned.train)
    step = Step(detector, settings, settings.epochs * pipeline.steps_per_epoch)
    at = Position(steps_per_epoch=pipeline.steps_per_epoch)
    if saved is not None:
        step.restore(saved.arrays)
        at = Position.from_plain(saved.position, pipeline.steps_per_epoch)
    line = TrainingLine(settings.epochs, pipeline.steps_per_epoch, settings.batch_size, memory_bytes)
    judge = Judge(run, learned.train, settings.warm_up_steps, at, line.say)
    rhythm = Rhythm(settings.checkpoint_every_s, settings.checkpoint_every_steps)
    if saved is not None:
        judge.restore(saved.position["judged"])
        rhythm.began(at.step)
    board = Board(run.tensorboard_path, at.step, line.say) if settings.tensorboard else None
    if board is not None:
        board.table(at.step, "settings", as_plain(settings))
    results = Results(run, detector, learned.classes, line.say)
    backend = running_backend() or ""
    scoring = Scoring(settings, backend, learned, Detecting(detector), results, board, line, interruption)
    begun = Begun(
        run, settings, interruption, backend, learned, pipeline, step, at, judge, checkpoints, rhythm, results, scoring, board,
        line, preparing.needed_by_weights(settings) if needed is None else needed,
    )  # fmt: skip
    _say_what_begins(begun, saved)
    return begun


def _say_what_begins(begun: Begun, saved: Saved | None) -> None:
    settings, learned, at = begun.settings, begun.lessons, begun.at
    where = devices.device()
    tell(
        TrainingBegan(
            at=time.time(),
            model=settings.model,
            backend=begun.backend,
            device=where,
            precision=settings.precision,
            batch_size=settings.batch_size,
            micro_batch=settings.at_once,
            steps_per_epoch=at.steps_per_epoch,
            epochs=settings.epochs,
            examples=len(learned.train.examples),
            from_step=at.step,
        )
    )
    detector = begun.step.detector
    shapes = batch_shapes(tuple(detector.settings.image_px), settings.batch_size, settings.most_boxes)
    telling.record(fingerprint_of(learned.train), detector, shapes)
    images = f"{counted(len(learned.train.examples), 'image')} of {counted(len(learned.classes), 'class', 'classes')}"
    say(f"{settings.model} on {begun.backend}, {where}: {images}; {learned.remark}.")
    if saved is None:
        return
    say(f"Goes on at step {at.step_in_epoch} of epoch {at.epoch + 1}, from {saved.path.name}.")
    epochs = saved.position["settings"]["epochs"]
    if epochs != settings.epochs:
        now = f"{settings.epochs} now: from here on the rate follows the schedule of these"
        say(f"It was begun for {epochs} epochs and has {now}.")


def versions(backend: str) -> dict[str, str]:
    """Of what computes: a checkpoint says by which versions it came about."""
    found = {"python": platform.python_version(), "unstall": unstall.__version__}
    for package in ("numpy", "keras", backend):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # it came by another name, as tensorflow-cpu does
            found[package] = str(getattr(sys.modules.get(package), "__version__", ""))
    return found


def memory_bytes() -> int | None:
    """Of the device in use; of this process, where it computes on the host."""
    used = devices.memory_in_use_bytes()
    if used is not None:
        return used
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except (OSError, ValueError):
        return None
