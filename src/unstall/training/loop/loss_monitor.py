"""What the steps told: read a few steps late so that the device never waits, summed up for the epoch, and judged.

When a training must not go on as it is: updates that cannot be applied again and again, or a loss that has risen for good. These
rules are pure, and what they have seen is part of a checkpoint, so that a run that is resumed judges as one that never stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unstall.base.exit_codes import DIVERGED, NOT_FINITE, ExitCode
from unstall.data.example import DataSet
from unstall.data.pipeline import Batch
from unstall.journal.events import LossDiverged, UpdateSkipped
from unstall.journal.run_folder import RunFolder
from unstall.training.loop.instrumentation import Updates, emit
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


# The rules.


# --- updates that are not applied ---

MAX_IN_A_ROW = 5
MAX_SHARE = 0.1
OF_THE_LAST = 200  # steps


class SkippedUpdates:
    """Counts the updates that were not finite. A few are bad luck; many mean that it will not get better by itself."""

    def __init__(self) -> None:
        self._last: deque[bool] = deque(maxlen=OF_THE_LAST)
        self.in_a_row = 0

    def see(self, is_applied: bool) -> None:
        self._last.append(not is_applied)
        self.in_a_row = 0 if is_applied else self.in_a_row + 1

    @property
    def has_failed(self) -> bool:
        return self.in_a_row >= MAX_IN_A_ROW or sum(self._last) > MAX_SHARE * OF_THE_LAST

    def as_plain(self) -> dict[str, Any]:
        return {"last": [int(skipped) for skipped in self._last], "in_a_row": self.in_a_row}

    def restore(self, plain: dict[str, Any]) -> None:
        self._last.extend(bool(skipped) for skipped in plain["last"])
        self.in_a_row = plain["in_a_row"]


# --- a loss that rises for good ---

USUAL_STEPS = 200  # before the last ones: what the loss usually is
MIN_USUAL_STEPS = 50
RECENT_STEPS = 20  # whose median is held against it, so that a few bad batches are no divergence
SUSTAINED_STEPS = 100  # that it must stay high
SURE_FACTOR = 1000.0  # of the loss of the first steps: so far off it does not come back by itself
SURE_STEPS = 20  # that it must stay high then
BEGIN_STEPS = 3  # of which the highest loss counts: a first batch without objects may have next to none
FACTOR_AT_THE_END = 10.0  # of the same, where no more steps come: nobody who has learned nothing does so badly
FACTOR = 2.0  # of the usual loss
FACTOR_AT_FIRST = 4.0  # while the rate still rises, or too little is known, a loss may rise for a while
RISEN = 1.25  # times the least that the usual loss has been: from there on what is saved may be worse than what was
SPREADS = 10.0  # standard deviations, as far as the median deviation tells them
DEVIATIONS = 1.4826  # median deviations in a standard deviation of normal noise


@dataclass(frozen=True)
class LossRise:
    loss: float  # the median of the last steps
    usual_loss: float
    since_step: int


@dataclass
class LowestLoss:
    """The least that the usual loss has been, since the rate last rose."""

    usual: float
    limit: float  # above it a loss has risen
    good_step: int  # the last at which the usual loss was still about that


class Divergence:
    """Held against medians: neither noise nor single bad batches move them. What is high is not learned to be usual, and what has
    become usual by and by, a little higher each time, is held against the least that it has been."""

    def __init__(self, warmup_steps: int) -> None:
        self._warm_up_steps = warmup_steps
        self._usual: deque[float] = deque(maxlen=USUAL_STEPS)
        self._recent: deque[float] = deque(maxlen=RECENT_STEPS)
        self._first: float | None = None  # the loss of the first steps: who has learned nothing yet does no worse
        self._begin: list[float] = []  # those of the very first
        self._since: int | None = None
        self._rate, self._steps_at_rate = (
            0.0,
            0,
        )  # since it rose, as in warm-up or when a run is given more epochs: so may the loss
        self._least: LowestLoss | None = None
        self.is_rising = False  # by and by: what is saved now may be worse than what was

    @property
    def is_suspected(self) -> bool:
        """The loss is high now: what is saved now may be bad."""
        return self._since is not None

    def see(self, step: int, loss: float, rate: float = 0.0) -> LossRise | None:
        self._begin = [*self._begin, loss][:BEGIN_STEPS]
        leaving = self._recent[0] if len(self._recent) == RECENT_STEPS else None
        self._recent.append(loss)
        recent = float(np.median(self._recent))
        if leaving is None:
            self._first = recent
            return None
        usual, limit = self._usual_and_limit(step)
        self._compare_with_lowest(step, usual, limit, rate)
        is_high = recent > limit
        if not is_high:
            self._usual.append(leaving)
        least = self._least
        if not is_high and (least is None or recent <= least.limit):
            self._since = None
            return None
        if self._since is None:
            self._since = step
        if step - self._since < (SURE_STEPS if self._is_far(recent, SURE_FACTOR) else SUSTAINED_STEPS):
            return None
        if self.is_rising and least is not None:
            return LossRise(recent, least.usual, least.good_step + 1)
        return LossRise(recent, usual, self._since - RECENT_STEPS // 2 + 1)  # half of the last steps were high by then

    def at_the_end(self, step: int) -> LossRise | None:
        """No more steps come that would tell whether it stays so high: what is far too high is taken for diverged."""
        if not self._recent:
            return None
        recent, begin = float(np.median(self._recent)), max(map(abs, self._begin), default=0.0)
        if begin and recent > SURE_FACTOR * begin:
            return LossRise(recent, self._begin[0], self._since or 1)
        if self._since is not None and self._is_far(recent, FACTOR_AT_THE_END):
            return LossRise(recent, self._first or begin, self._since)
        return None

    def _is_far(self, recent: float, factor: float) -> bool:
        return bool(self._first) and recent > factor * abs(self._first or 0.0)

    def _compare_with_lowest(self, step: int, usual: float, limit: float, rate: float) -> None:
        if rate > self._rate:
            self._least, self.is_rising, self._steps_at_rate = None, False, 0
        self._rate, self._steps_at_rate = rate, self._steps_at_rate + 1
        if self._steps_at_rate <= USUAL_STEPS + RECENT_STEPS or not usual:
            return
        if self._least is None or usual < self._least.usual:
            self._least = LowestLoss(usual, limit, step)
        self.is_rising = usual > RISEN * self._least.usual
        if not self.is_rising:
            self._least.good_step = step

    def _usual_and_limit(self, step: int) -> tuple[float, float]:
        """No limit where most batches have no loss at all: there is little to find in them."""
        if len(self._usual) < MIN_USUAL_STEPS:
            first = self._first or 0.0
            return first, FACTOR_AT_FIRST * abs(first) if first else math.inf
        usual = float(np.median(self._usual))
        if not usual:
            return usual, math.inf
        spread = DEVIATIONS * float(np.median(np.abs(np.asarray(self._usual) - usual)))
        factor = FACTOR_AT_FIRST if step < self._warm_up_steps else FACTOR
        return usual, usual + max(SPREADS * spread, (factor - 1) * abs(usual))

    def as_plain(self) -> dict[str, Any]:
        return {
            "usual": list(self._usual),
            "recent": list(self._recent),
            "first": self._first,
            "begin": self._begin,
            "since": self._since,
            "rate": self._rate,
            "steps_at_rate": self._steps_at_rate,
            "least": None if self._least is None else asdict(self._least),
            "is_rising": self.is_rising,
        }

    def restore(self, plain: dict[str, Any]) -> None:
        self._usual.extend(plain["usual"])
        self._recent.extend(plain["recent"])
        self._first, self._begin, self._since = plain.get("first"), plain.get("begin", []), plain["since"]
        self._rate, self._steps_at_rate = plain.get("rate", 0.0), plain.get("steps_at_rate", 0)
        self._least = LowestLoss(**plain["least"]) if plain.get("least") else None
        self.is_rising = plain.get("is_rising", False)
