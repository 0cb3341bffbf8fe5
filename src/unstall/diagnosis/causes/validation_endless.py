"""A validation has no end, or was given its number of samples as its number of steps.

What it is
----------
The training seems to freeze at the last batch of an epoch. In truth the validation runs: over a data set that repeats for
ever with no `validation_steps` to stop it, or for as many steps as there are samples, so that the same data are gone through
again and again.

How we know
-----------
The validation's input says itself that it has no end (a repeated data set, a generator in `while True:`) and no number of
steps was given; or the number of steps is many times one pass over the data; or, where the length of a pass is not known, the
validation will take many times as long as the epoch of training before it.

When this is wrong
------------------
If the validation is meant to go over its data many times, or is meant to be far larger than an epoch of training.

What to do
----------
Leave `repeat()` out of the validation data, or give `validation_steps` as samples divided by the batch size.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import FitBegan, InputDescribed, PhaseBegan, PhaseEnded, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

SEEN_FOR_S = 5.0  # of a validation without end
PASSES = 6.0  # so many passes over the validation data nobody wants; samples for steps gives as many as the batch has samples
MIN_TOTAL_S = 25.0  # a validation that is over sooner harms nobody
TIMES_AN_EPOCH = 10.0  # where the length of a pass is not known: so many times the training before it …
MIN_UNKNOWN_TOTAL_S = 120.0  # … and at least so long
MIN_PROGRESS_S = 8.0  # before its speed is believed
NO_END = -1


@dataclass(frozen=True)
class Validation:
    """The latest, and what it was given."""

    began: PhaseBegan
    seconds: float
    steps: int
    is_over: bool
    source: InputDescribed
    groups: tuple[StepsEnded, ...]
    where: str | None
    is_own_loop: bool = False

    @property
    def argument(self) -> str:
        """What the number of steps is called: in fit, or in a call of evaluate on its own."""
        return "validation_steps" if self.source.role == "validate" else "steps"

    @property
    def wanted(self) -> int | None:
        """validation_steps, as the program gave it."""
        steps = self.source.arguments.get("steps_per_epoch")
        return steps if isinstance(steps, int) else None

    @property
    def total_s(self) -> float | None:
        """What all of its steps take at its present speed."""
        if self.is_over:
            return self.seconds
        if self.wanted is None or not self.steps or self.seconds < MIN_PROGRESS_S:
            return None
        return self.seconds * max(1.0, self.wanted / self.steps)


def examine(journal: Journal) -> Verdict:
    validation = _latest(journal)
    if validation is None:
        return Unknown("a validation") if journal.last(PhaseBegan) is None else Clear("no validation has begun")
    if validation.wanted is None:
        return _without_steps(journal, validation)
    return _with_steps(journal, validation, validation.wanted)


def _latest(journal: Journal) -> Validation | None:
    began = next((event for event in reversed(journal.of(PhaseBegan)) if event.phase == "validate"), None)
    if began is None:
        return None
    source = next((event for event in reversed(journal.of(InputDescribed)) if event.at <= began.at + 1.0), None)
    fit = next((event for event in reversed(journal.of(FitBegan)) if event.at <= began.at), None)
    if source is None or (source.role != "validate" and fit is not None and fit.at >= source.at):
        # Keras keeps the input of the first validation for the later ones.
        kept = [event for event in journal.of(InputDescribed) if event.role == "validate" and event.at <= began.at + 1.0]
        if not kept:
            return None
        source = kept[-1]
    ended = next((event for event in journal.of(PhaseEnded) if event.phase == "validate" and event.at >= began.at), None)
    groups = tuple(group for group in journal.of(StepsEnded) if group.phase == "validate" and group.at >= began.at)
    is_own_loop = fit is not None and fit.api == "own_loop"
    caller = fit.where if fit is not None and source.role == "validate" and not is_own_loop else source.where
    return Validation(
        began=began,
        seconds=ended.seconds if ended else max(0.0, journal.now - began.at),
        steps=sum(group.last - group.first + 1 for group in groups),
        is_over=ended is not None,
        source=source,
        groups=groups,
        where=shorten_stage(caller, find_program_folder(journal)),
        is_own_loop=is_own_loop,
    )


def _without_steps(journal: Journal, validation: Validation) -> Verdict:
    source = validation.source
    endless = source.batches == NO_END or source.arguments.get("never_ends") is True
    if not endless or validation.is_over or validation.seconds < SEEN_FOR_S:
        return Clear("the validation's data end")
    what = "Your validation generator loops for ever" if source.kind == "generator" else "Your validation data repeat for ever"
    per_pass = source.arguments.get("batches_per_pass")
    passes = validation.steps / per_pass if isinstance(per_pass, int) and per_pass else 0.0
    if validation.is_own_loop:
        return _in_own_loop(validation, passes)
    times = f", {passes:.1f} times through the data" if passes >= 1 else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=(
            f"{what}, and without `{validation.argument}` nothing says where to stop: the validation will never end. "
            f"{_so_far(validation)}{times}."
        ),
        evidence=(
            Evidence("the validation's input has no end, and no number of steps was given", "endless", None, (source,)),
            _progress(validation),
        ),
        actions=(
            "leave repeat() (or `while True:`) out of the validation data",
            f"or give {validation.argument}: the number of samples divided by the batch size",
        ),
        where=validation.where,
        effect=Effect.STOPS,
    )


def _in_own_loop(validation: Validation, passes: float) -> Verdict:
    """It may be left by a `break`: so it has to have gone over its data more often than anybody wants."""
    if passes < PASSES or validation.seconds < MIN_TOTAL_S:
        return Clear("the loop over the validation's data may yet be left")
    return Found(
        certainty=Certainty.LIKELY,
        summary=(
            f"Your validation data repeat for ever, and the loop over them goes on: {validation.steps:,} steps in "
            f"{validation.seconds:.0f} s, {passes:.0f} times through the data."
        ),
        evidence=(
            Evidence("the validation's data set has no end", "endless", None, (validation.source,)),
            _progress(validation),
        ),
        actions=(
            "leave repeat() out of the validation data",
            "or loop over dataset.take(number of batches): the number of samples divided by the batch size",
        ),
        where=validation.where,
        effect=Effect.STOPS,
    )


def _with_steps(journal: Journal, validation: Validation, wanted: int) -> Verdict:
    total = validation.total_s
    if total is None or total < MIN_TOTAL_S:
        return Clear("the validation has an end that is near")
    per_pass = validation.source.arguments.get("batches_per_pass")
    if isinstance(per_pass, int) and per_pass > 0:
        if wanted / per_pass < PASSES:
            return Clear(f"the validation goes {wanted / per_pass:.1f} times over its data")
        claim = f"{wanted:,} steps are {wanted / per_pass:.0f} passes over the data: one pass is {per_pass:,} batches"
        evidence = Evidence(claim, wanted / per_pass, PASSES, (validation.source,))
        return _too_many(validation, wanted, total, evidence, per_pass, Certainty.CERTAIN)
    epoch = _training_s(journal, validation)
    if epoch is None or total < TIMES_AN_EPOCH * epoch or total < MIN_UNKNOWN_TOTAL_S:
        return Clear("the validation is not out of proportion to the training")
    claim = f"it will take {_time(total)}; the training of the epoch before it took {_time(epoch)}"
    groups = tuple(validation.groups[-3:]) or (validation.began,)
    return _too_many(validation, wanted, total, Evidence(claim, total / epoch, TIMES_AN_EPOCH, groups), None, Certainty.LIKELY)


def _training_s(journal: Journal, validation: Validation) -> float | None:
    """How long the training between this validation and the one before it took."""
    before = [event.at for event in journal.of(PhaseEnded) if event.phase == "validate" and event.at < validation.began.at]
    since = before[-1] if before else 0.0
    groups = [
        group for group in journal.of(StepsEnded) if group.phase == "train" and since <= group.at <= validation.began.at + 1.0
    ]
    return sum(group.seconds for group in groups) if groups else None


def _too_many(
    validation: Validation, wanted: int, total: float, evidence: Evidence, per_pass: int | None, certainty: Certainty
) -> Found:
    of_pass = f": {wanted / per_pass:.0f} passes over the data, of {per_pass:,} batches each" if per_pass else ""
    so_far = (
        f"The validation took {_time(validation.seconds)}."
        if validation.is_over
        else f"It has made {validation.steps:,} steps of validation in {validation.seconds:.0f} s and will take {_time(total)}."
    )
    waits = " The training waits for it." if validation.source.role == "validate" else ""
    return Found(
        certainty=certainty,
        summary=(f"{validation.argument} is {wanted:,}{of_pass}. {so_far}{waits}"),
        evidence=(evidence, _progress(validation)),
        actions=(
            f"give {validation.argument}={per_pass}"
            if per_pass
            else f"divide {validation.argument} by the batch size, if it is the number of samples",
            "or leave it out and give validation data that end (no repeat(), no `while True:`)",
        ),
        where=validation.where,
        effect=Effect.SLOWS,
    )


def _so_far(validation: Validation) -> str:
    """Steps of a validation are not seen everywhere."""
    took = f"{validation.seconds:.0f} s"
    return f"It has made {validation.steps:,} steps in {took}" if validation.groups else f"It has taken {took} so far"


def _progress(validation: Validation) -> Evidence:
    took = f"{validation.seconds:.0f} s"
    claim = f"{validation.steps:,} steps of validation in {took}" if validation.groups else f"the validation began {took} ago"
    return Evidence(claim, validation.steps, None, (validation.began, *validation.groups[-2:]))


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
