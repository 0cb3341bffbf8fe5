"""The learning rate is so low that the whole run cannot move the weights anywhere: the loss stays where it began.

What it is
----------
A rate that is a thousand times below the usual, such as 1e-8 by a slip of the keyboard, or a decay that is applied at every
step instead of every epoch. The training runs and looks right, and after hours the weights are what they were.

How we know
-----------
The rate is a thousandth of a usual start for that optimizer, or less, and was so from the start or soon after it. By the
steps that were measured, all steps of the run together would move the weights by less than 1 % of their size, and with a
usual rate they would move: so it is the rate, not a gradient of zero. The loss has not fallen. A warm-up that begins at 0, a
schedule that ends there, and fine-tuning with a small rate that does its work are no fault. Or a callback has lowered the rate
to a thousandth of its start and far below, and no weight has changed by one bit for hundreds of steps: whatever was learned
before, what follows is in vain.

When this is wrong
------------------
If the model is not meant to change much, as in the last polish of a trained one.

What to do
----------
Start with 0.001 for Adam or 0.01 for SGD. Give decays in steps, not epochs: `decay_steps=steps_per_epoch`.
"""

from __future__ import annotations

from unstall.diagnosis.learning_curve import (
    MIN_READINGS,
    MIN_SECONDS,
    USUAL,
    LearningCurve,
    format_number,
    has_no_movement,
    read_watched_curve,
)
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import WeightsSampled
from unstall.journal.reader import Journal

EXPLAINS = ("loss_not_falling",)
OF_USUAL = 0.001  # of the rate one usually starts with
MIN_STEPS = 1000
TRAVEL = 0.01  # of the weights' size, over all steps of the run
MIN_FALL = 0.02  # of the loss: a fall by more shows that it learns
WOULD_MOVE = 1e-4  # of the weights' size, in one step at a usual rate: else the gradients are what is small
OF_START = 1e-6  # of the rate that it began with: below, a step is less than a float32 can hold beside the weight
UNMOVED_STEPS = 300  # in which no weight has changed by one bit; a schedule that ends at 0 ends there, too
STEPS_PLANNED = 10  # times the steps so far, where it is not known how many there will be


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    if not run.rates:
        return Unknown("the learning rate, or samples of the weights", "")
    if run.steps < MIN_STEPS or run.seconds < MIN_SECONDS or len(run.late) < MIN_READINGS or len(run.samples) < 2:
        return Clear("too early to tell")
    usual = USUAL.get(run.optimizer)
    rate = run.rates[-1]
    if usual is None or run.rates[0] <= 0 or rate > OF_USUAL * usual:
        return Clear("the rate is not that low")
    if rate > run.rates[0] * 1.01 or rate > run.rates[len(run.rates) // 2] * 1.01:
        return Clear("the rate is rising: a warm-up")
    if _has_sunk(run, rate):
        return _sunk(run, rate)
    left = run.find_fall()
    if left is None or left < 1 - MIN_FALL or (run.level is not None and (run.late_loss or 0.0) < 0.5 * run.level):
        return Clear("the loss has fallen, or is low already")
    moved = _moves(run)
    if moved is None:
        return Clear("the weights move, or would not move at a usual rate either")
    return _found(run, rate, usual, *moved)


def _has_sunk(run: LearningCurve, rate: float) -> bool:
    """Bit by bit, and nobody has planned it: a schedule comes down to 0 on purpose, and some epochs after that are no fault."""
    is_planned = rate == 0 or bool(run.model.get("schedule"))
    far_down = rate < OF_START * run.rates[0] and run.samples[-1].facts["window"] >= UNMOVED_STEPS
    return not is_planned and far_down and has_no_movement(run)


def _sunk(run: LearningCurve, rate: float) -> Found:
    newest = run.samples[-1]
    fell = f"the learning rate has fallen from {format_number(run.rates[0])} to {format_number(rate)}"
    still = f"no weight that was looked at has changed by one bit in {newest.facts['window']:,} steps"
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{fell[0].upper()}{fell[1:]}, and {still}.",
        evidence=(
            Evidence(fell, rate, OF_START * run.rates[0], (run.samples[0], newest)),
            Evidence(still, newest.facts["window"], UNMOVED_STEPS, (newest,)),
        ),
        actions=(
            "give what lowers the rate a floor and patience, and a loss mode='min': ReduceLROnPlateau(patience=5, min_lr=1e-6)",
            "or give a decay in steps, not in epochs; or stop where nothing more is learned: EarlyStopping",
        ),
        where=shorten_path(run.journal, run.model.get("optimizer_at") or run.model.get("compiled_at") or run.fit.where),
        effect=Effect.SPOILS,
    )


def _moves(run: LearningCurve) -> tuple[WeightsSampled, float, int] | None:
    """(a sample, the share of their size that the weights move over all steps, how many steps those are)"""
    planned = (run.fit.epochs or 0) * (run.fit.steps_per_epoch or 0) or STEPS_PLANNED * run.steps
    pairs = [
        (sample, weight)
        for sample in run.samples
        for weight in run.kernels(sample)
        if weight.get("step") is not None and weight.get("rms")
    ]
    if not pairs:
        return None
    late = [pair for pair in pairs if pair[0].step > pairs[-1][0].step // 2]
    largest = max(late, key=lambda pair: pair[1]["step"] / pair[1]["rms"])
    share = largest[1]["step"] / largest[1]["rms"] * planned
    first_rate, usual = run.rates[0], USUAL[run.optimizer]
    early = max(weight["step"] / weight["rms"] for _, weight in pairs)
    would = early * usual / first_rate if first_rate > 0 else 0.0
    moved = max((weight.get("moved") or 0.0) / weight["rms"] for _, weight in pairs[-len(run.kernels(run.samples[-1])) :])
    if share > TRAVEL or moved > TRAVEL or would < WOULD_MOVE:
        return None
    return largest[0], share, planned


def _found(run: LearningCurve, rate: float, usual: float, sample: WeightsSampled, share: float, planned: int) -> Found:
    fell = run.rates[0] > 10 * rate
    how = f"has fallen from {format_number(run.rates[0])} to {format_number(rate)}" if fell else f"is {format_number(rate)}"
    stands = f"the loss stands at {format_number(run.late_loss)}, and began at {format_number(run.early_loss)}"
    place = run.model.get("optimizer_at") or run.model.get("compiled_at") or run.fit.where
    return Found(
        certainty=Certainty.CERTAIN if rate <= usual * OF_USUAL / 10 else Certainty.LIKELY,
        summary=f"The learning rate {how}, far too low for {run.optimizer}: {stands}.",
        evidence=(
            Evidence(
                f"the learning rate {how}; {format_number(usual)} is a usual start for {run.optimizer}",
                rate,
                OF_USUAL * usual,
                (run.samples[-1],),
            ),
            Evidence(
                f"{planned:,} steps like the longest one measured would move the weights by {100 * share:.2g} % of their size",
                share,
                TRAVEL,
                (sample,),
            ),
            Evidence(stands, run.late_loss, run.early_loss, (run.readings[0], run.late[-1])),
        ),
        actions=(
            f"start with a rate of {format_number(usual)}",
            "give the decay in steps, not in epochs: decay_steps=steps_per_epoch"
            if run.model.get("schedule")
            else "look where the rate comes from",
        ),
        where=shorten_path(run.journal, place),
        effect=Effect.SPOILS,
    )
