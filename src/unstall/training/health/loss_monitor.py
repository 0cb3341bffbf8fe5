"""What the steps told: read a few steps late so that the device never waits, summed up for the epoch, and judged."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unstall.base.exit_codes import DIVERGED, NOT_FINITE, ExitCode
from unstall.data.example import DataSet
from unstall.data.pipeline import Batch
from unstall.journal.events import LossDiverged, UpdateSkipped
from unstall.journal.run_folder import RunFolder
from unstall.training.health.divergence import Divergence, LossRise, SkippedUpdates
from unstall.training.health.gradient_norms import Updates
from unstall.training.loop.instrumentation import emit
from unstall.training.loop.position import Position

if TYPE_CHECKING:
    from unstall.training.step.step import StepNumbers, StepOutput

UNREAD_STEPS = 3  # that may be on their way at once


class TrainingStopped(Exception):
    """The training ends here, in order."""

    def __init__(self, exit_code: ExitCode, since_step: int = 0) -> None:
        super().__init__(exit_code.title)
        self.exit_code, self.since_step = exit_code, since_step


@dataclass(frozen=True)
class UnreadStep:
    step: int  # counted from 1, over all epochs
    output: StepOutput
    batch: Batch


class LossMonitor:
    def __init__(
        self,
        run: RunFolder,
        data: DataSet,
        warmup_steps: int,
        at: Position,
        say: Callable[[str], None],
        rows_of_all: Callable[[int, int], list[int]] | None = None,
        updates: Updates | None = None,
    ) -> None:
        """`rows_of_all`: of a step of an epoch, where others compute parts of its batch. `updates`: who tells how large they
        are."""
        self._rows_of_all, self._updates = rows_of_all, updates
        self._run, self._data, self._at, self._say = run, data, at, say
        self._unread: deque[UnreadStep] = deque()
        self._skipped, self._divergence = SkippedUpdates(), Divergence(warmup_steps)
        self._has_said = False
        self.last_loss: float | None = None  # that was read

    @property
    def is_suspicious(self) -> bool:
        """The loss is high: what is saved now may be bad."""
        return self._divergence.is_suspected

    @property
    def is_rising(self) -> bool:
        """The loss rises by and by: what is saved now may be worse than what was saved before."""
        return self._divergence.is_rising

    def see(self, step: int, output: StepOutput, batch: Batch) -> None:
        self._unread.append(UnreadStep(step, output, batch))
        if len(self._unread) > UNREAD_STEPS:
            self._read(self._unread.popleft())

    def read_all(self) -> None:
        """Waits for all steps."""
        while self._unread:
            self._read(self._unread.popleft())

    def check_end(self) -> None:
        """No more steps come: a loss that is far too high now stays so."""
        diverged = self._divergence.at_the_end(self._at.step)
        if diverged is not None:
            self._end_diverged(self._at.step, diverged)

    def report_rest(self) -> None:
        """At the end of a training: of the updates since they were last told of."""
        if self._updates is not None:
            self._updates.report()

    def as_plain(self) -> dict[str, Any]:
        return {"skipped": self._skipped.as_plain(), "divergence": self._divergence.as_plain()}

    def restore(self, plain: dict[str, Any]) -> None:
        self._skipped.restore(plain["skipped"])
        self._divergence.restore(plain["divergence"])

    def _read(self, unread: UnreadStep) -> None:
        numbers = unread.output.read()
        if numbers.is_applied:
            self._skipped.see(is_applied=True)
            self.last_loss = numbers.loss
            self._at.now.add(numbers.losses, numbers.gradient_norm, numbers.rate)
            if self._updates is not None:
                self._updates.see(unread.step, numbers.rate, numbers.gradient_norm, numbers.group_norms)
            diverged = self._divergence.see(unread.step, numbers.loss, numbers.rate)
            if diverged is not None:
                self._end_diverged(unread.step, diverged)
            return
        self._at.now.skipped += 1
        if not numbers.is_overflow:  # in float16 the scale of the loss is put right by itself
            self._report_skipped(unread, numbers)

    def _report_skipped(self, unread: UnreadStep, numbers: StepNumbers) -> None:
        self._skipped.see(is_applied=False)
        folder = self._run.bad_batches_path
        path = write_bad_batch(folder, unread.step, unread.batch, self._data, numbers.losses, numbers.gradient_norm)
        what = "gradient" if math.isfinite(numbers.loss) else "loss"
        emit(
            UpdateSkipped(
                at=time.time(),
                step=unread.step,
                epoch=unread.batch.epoch,
                what=what,
                rows=self._rows(unread.batch),
                path=path,
                in_a_row=self._skipped.in_a_row,
            )
        )
        if not self._has_said:
            self._has_said = True
            self._say(f"Step {unread.step}: the {what} is not finite, and the update is not applied. The batch lies in {folder}")
        if self._skipped.has_failed:
            self._say(f"Step {unread.step}: too many updates are not finite.")
            raise TrainingStopped(NOT_FINITE)

    def _rows(self, batch: Batch) -> list[int]:
        own = list_batch_rows(batch)
        everyone = [] if self._rows_of_all is None else self._rows_of_all(batch.epoch, batch.step)
        return own + [row for row in everyone if row not in own] if len(everyone) > len(own) else own

    def _end_diverged(self, step: int, diverged: LossRise) -> None:
        loss, usual, since = diverged.loss, diverged.usual_loss, diverged.since_step
        emit(LossDiverged(at=time.time(), step=step, loss=loss, usual_loss=usual, since_step=since))
        self._say(f"Step {step}: the loss has been about {loss:.4g} since step {since}; before, it was {usual:.4g}.")
        raise TrainingStopped(DIVERGED, since)


# Batches whose update was not finite, written for a look: their arrays, and the names of the examples with what is marked.


MAX_BAD_BATCHES = 8  # in a run: the first ones tell enough, and they may be large


def list_batch_rows(batch: Batch) -> list[int]:
    return [int(row) for row in batch.rows if row >= 0]


def write_bad_batch(folder: Path, step: int, batch: Batch, data: DataSet, losses: dict[str, float], gradient_norm: float) -> str:
    """The path of the .npz; empty where enough lie there already, or the disk does not take it."""
    stem = folder / f"step-{step:09d}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path for path in folder.glob("*.npz") if path.stem != stem.name]
        if len(others) >= MAX_BAD_BATCHES:
            return ""
        with stem.with_suffix(".npz").open("wb") as file:
            arrays: dict[str, Any] = batch.arrays()
            np.savez_compressed(file, **arrays)
        text = json.dumps(_described(step, batch, data, losses, gradient_norm), indent=1)
        stem.with_suffix(".json").write_text(text, encoding="utf-8")
    except OSError:
        with suppress(OSError):
            stem.with_suffix(".npz").unlink()  # half of it
        return ""
    return str(stem.with_suffix(".npz"))


def _described(step: int, batch: Batch, data: DataSet, losses: dict[str, float], gradient_norm: float) -> dict[str, Any]:
    return {
        "step": step,
        "epoch": batch.epoch + 1,
        "losses": {name: repr(value) for name, value in losses.items()},  # JSON has no word for what is not finite
        "gradient_norm": repr(gradient_norm),
        "examples": [{"row": row, **_example(data, row)} for row in list_batch_rows(batch)],
    }


def _example(data: DataSet, row: int) -> dict[str, Any]:
    example = data.examples[row]
    names: Sequence[str] = data.classes
    return {
        "name": example.name,
        "file": "" if example.image is None else str(example.image.path),
        "annotation": str(example.origin),
        "boxes": example.boxes.tolist(),
        "classes": [names[number] if 0 <= number < len(names) else str(number) for number in example.classes.tolist()],
    }
