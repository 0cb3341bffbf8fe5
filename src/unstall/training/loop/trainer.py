"""The loop of a training: learn an epoch, keep it, score it, and again.

It begins at the newest sound checkpoint, or at the start: beginning and resuming are one path (`setup.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from typing import Any

from unstall.base.exit_codes import DIVERGED, DONE, INTERRUPTED, NOT_KEPT, ExitCode
from unstall.base.formatting import format_count, format_duration
from unstall.config.settings import as_plain
from unstall.data.pipeline import Batch
from unstall.journal.events import EpochScored
from unstall.training.checkpoint import integrity, store
from unstall.training.checkpoint.store import MAX_SHARE, Outcome
from unstall.training.distributed.collectives import OthersLeft
from unstall.training.loop import instrumentation
from unstall.training.loop.interruption import Interrupted
from unstall.training.loop.loss_monitor import TrainingStopped
from unstall.training.loop.position import EpochScore
from unstall.training.loop.results import Figures
from unstall.training.loop.setup import TrainingContext, list_versions

TIMES, SCORES = ("train_s", "input_wait_s", "eval_s"), ("AP", "AR")  # columns of the history, for TensorBoard's groups


class Trainer:
    def __init__(self, context: TrainingContext) -> None:
        self.context, self.settings, self.at = context, context.settings, context.at
        self.step, self.loss_monitor, self.line = context.step, context.loss_monitor, context.line
        self.checkpoints, self.interval, self.interruption = context.checkpoints, context.interval, context.interruption
        self.collectives = context.collectives
        self._messages: set[str] = set()

    # --- the loop ---

    def train(self) -> ExitCode:
        self.interruption.before_leaving = self.checkpoints.wait
        try:
            self.skip_evaluated_epoch()
            with (
                instrumentation.fit(self.context.backend, self.settings.epochs, self.at.steps_per_epoch),
                self.batches() as batches,
            ):
                self.train_epochs(batches)
            self.draw_predictions()
            return NOT_KEPT if self.context.results.not_kept else DONE
        except Interrupted:
            return INTERRUPTED
        except TrainingStopped as stopped:
            if stopped.exit_code is DIVERGED and self.collectives.is_first:
                self.checkpoints.wait()
                self.checkpoints.withdraw_from(stopped.since_step)
            return stopped.exit_code
        finally:
            self.checkpoints.wait()

    def train_epochs(self, batches: Iterator[Batch]) -> None:
        try:
            while self.at.epoch < self.settings.epochs and not self.is_patience_spent():
                self.train_epoch(batches)
                if self.is_due(at_epoch_end=True):
                    self.save_checkpoint()
                self.evaluate_epoch()
                self.stop_if_requested()
        except (Interrupted, OthersLeft):
            if self.context.phase == "first_step":
                raise  # it was never finished: there is nothing new to keep, and its state may be half of each
            self.collectives.announce_exit()
            self.save_unless_saved()
            self.collectives.exit_together()
            raise
        self.save_unless_saved()
        self.loss_monitor.report_rest()

    def train_epoch(self, batches: Iterator[Batch]) -> None:
        self.interruption.reinstall_handlers()
        instrumentation.epoch_began(self.at.epoch)
        while self.at.step_in_epoch < self.at.steps_per_epoch:
            self.train_batch(batches)
            must_end, must_save = self.step.exchange_requests(self.interruption.is_requested, self.is_due())
            if must_end:
                raise Interrupted
            if must_save:
                self.save_checkpoint()
        self.loss_monitor.read_all()
        instrumentation.steps_paused(self.loss_monitor.last_loss)
        if self.at.epoch + 1 == self.settings.epochs:
            self.loss_monitor.check_end()

    def train_batch(self, batches: Iterator[Batch]) -> None:
        began = time.monotonic()
        with (
            instrumentation.measure_input_wait(),
            self.interruption.interruptible() if self.collectives.is_alone else nullcontext(),
        ):
            batch = next(batches)
        waited_s = time.monotonic() - began
        instrumentation.step_began()
        with self.compiling() if self.context.phase == "first_step" else nullcontext():
            output = self.step(batch.inputs())
        self.at.step_in_epoch += 1
        self.loss_monitor.see(self.at.step, output, batch)
        instrumentation.step_ended(lambda: self.loss_monitor.last_loss)
        self.at.now.seconds += time.monotonic() - began
        self.at.now.wait_s += waited_s
        self.line.step(self.at.epoch, self.at.step_in_epoch, self.loss_monitor.last_loss, waited_s)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """The first step may take minutes; until it is done there is nothing that was not saved."""
        self.line.works("compiling", 0, 0)
        with self.interruption.exit_allowed():
            yield
        self.context.phase = "train"

    def batches(self) -> Any:
        """Of all epochs that are left: the first of the next are made while an epoch is scored."""
        return self.context.pipeline.batches(self.at.epoch, self.at.step_in_epoch, self.settings.epochs - self.at.epoch)

    def is_patience_spent(self) -> bool:
        most, without = self.settings.patience, self.at.epochs_without_improvement()
        if not most or without < most:
            return False
        self.line.say(f"No better score for {format_count(without, 'epoch')}: the training ends (patience = {most}).")
        return True

    def draw_predictions(self) -> None:
        self.checkpoints.wait()
        with self.interruption.exit_allowed():
            if self.collectives.is_first:
                self.context.scoring.draw_predictions()

    # --- checkpoints ---

    def is_due(self, at_epoch_end: bool = False) -> bool:
        """Not while the loss is suspiciously high, nor while the one before is on its way to the disk. Only the first worker
        saves; the others then read what their steps told as it does, so that all judge it at the same step."""
        is_free = at_epoch_end or not self.checkpoints.is_busy
        is_due = self.collectives.is_first and self.interval.is_due(self.at.step, at_epoch_end)
        return is_due and is_free and not self.loss_monitor.is_suspicious

    def save_unless_saved(self) -> None:
        if not self.interval.is_kept(self.at.step):
            self.save_checkpoint()

    def save_checkpoint(self) -> None:
        if not self.collectives.is_first:
            return self.loss_monitor.read_all()
        return self.save()

    def save(self) -> None:
        began = time.monotonic()
        with self.phase("save"), instrumentation.report_phase("save"):
            self.loss_monitor.read_all()
            self.interval.began(self.at.step)
            self.checkpoints.save(self.step.arrays(), self.position(), self.report_saved, began)
        instrumentation.checkpoint_saved(str(self.context.run.checkpoints_path), time.monotonic() - began)

    def position(self) -> dict[str, Any]:
        return {
            **self.at.as_plain(),
            "judged": self.loss_monitor.as_plain(),
            store.IS_RISING: self.loss_monitor.is_rising,
            "needed_by_weights": self.context.needed_by_weights,
            "settings": as_plain(self.settings),
            integrity.DATA: integrity.describe_data(self.context.datasets),
            "versions": list_versions(self.context.backend),
        }

    def report_saved(self, outcome: Outcome) -> None:
        """Called by the thread that wrote it."""
        self.interval.ended(outcome)
        if outcome.error:
            self.say_once("refused", f"No checkpoint can be kept: {outcome.error}. The training goes on, and it is tried again.")
        elif "refused" in self._messages:
            self._messages.discard("refused")
            self.line.say("Checkpoints are kept again.")
        if self.interval.is_stretched:
            asked = format_duration(self.settings.checkpoint_interval_s)
            every = f"every {format_duration(self.interval.interval_s)} rather than {asked}"
            self.say_once("dear", f"A checkpoint costs {outcome.cost_s:.1f} s: one {every}, {MAX_SHARE:.0%} of the time.")

    def say_once(self, about: str, text: str) -> None:
        if about not in self._messages:
            self._messages.add(about)
            self.line.say(text)

    # --- scores ---

    def skip_evaluated_epoch(self) -> None:
        """The epoch that the checkpoint ends may have been scored before the run was ended."""
        results = self.context.results
        before = self.collectives.broadcast(lambda: (scored := results.load_epoch_score(self.at)) and asdict(scored))
        scored = EpochScore(**before) if before else None
        if scored is not None and (scored.figures or not self.context.scoring.is_due(self.at)):
            self.at.end_epoch(scored.figures, scored.seconds)
            results.save_history(self.at.history)

    def evaluate_epoch(self) -> None:
        began, at, figures = time.monotonic(), self.at, Figures()
        self.context.results.delete_epoch_score()
        with self.exit_allowed_if_saved(), self.phase("validate"), self.step.get_ema_weights():
            if self.context.scoring.is_due(at):
                figures = self.context.scoring.score(at)
            self.context.results.save_last()
        scored = EpochScore(figures, time.monotonic() - began)
        self.context.results.save_epoch_score(at, scored)
        self.report_epoch(scored)

    def exit_allowed_if_saved(self) -> AbstractContextManager[None]:
        """An epoch that is kept may be left while it is scored: it is scored again when the run goes on. One of several workers
        says so to the others, where they wait for each other."""
        is_free = self.collectives.is_alone and self.interval.is_kept(self.at.step)
        return self.interruption.exit_allowed() if is_free else nullcontext()

    def stop_if_requested(self) -> None:
        """Of several workers; one alone has ended by itself."""
        if not self.collectives.is_alone and any(self.collectives.all_gather(self.interruption.is_requested)):
            raise Interrupted

    def report_epoch(self, scored: EpochScore) -> None:
        epoch, step, figures, seconds = self.at.epoch, self.at.step, scored.figures, scored.seconds
        row = self.at.end_epoch(figures, seconds)
        numbers = {name: value for name, value in row.items() if name not in {"epoch", "step", "is_best"}}
        instrumentation.epoch_ended(epoch, numbers)
        if figures:
            is_best = bool(row["is_best"])
            instrumentation.emit(
                EpochScored(at=time.time(), epoch=epoch, step=step, figures=figures, is_best=is_best, seconds=seconds)
            )
        self.context.results.save_history(self.at.history)
        if self.context.board is not None:
            self.context.board.scalars(step, {f"{_group(name)}/{name}": value for name, value in numbers.items()})
            self.context.board.flush()
        self.line.epoch_ended(row)

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """For whoever tells what it was about when memory ran out; so it stays where it was raised."""
        before, self.context.phase = self.context.phase, what
        yield
        self.context.phase = before


def _group(column: str) -> str:
    return "time" if column in TIMES else "eval" if column.startswith(SCORES) else "train"
