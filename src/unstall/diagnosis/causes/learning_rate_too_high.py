"""The learning rate is too high: each step throws the weights far past the goal, and the loss jumps up instead of falling.

What it is
----------
A step is the gradient times the learning rate. Where it is longer than the weights themselves are large, what was learned is
lost. The loss leaps up in the first steps; then it becomes NaN, or stays where guessing would put it, since many units never
answer again.

How we know
-----------
Two things must come together. The training is in trouble: its loss is NaN, far above its start, or no better than guessing.
And in some step a layer's weights changed by a third of their own size or more, at a rate beyond what is usual for that
optimizer, where the rate one usually starts with would not have done it. A rate that is bold, with a loss that falls, is no
fault. Where no hook sees the weights, or many steps are made in one call, nothing is known of a step: a loss that is NaN, at a
rate a hundred times above the largest usual one, makes it likely; one that is printed a hundred times above its start, and stays
there, makes it possible. So does a loss, seen by a hook, that stands a million times above its start, or that is exactly 0
for good, after it rose a hundred times, or at once from above its start, after it rose tenfold: such a model answers nothing any
more.

When this is wrong
------------------
If the loss is not meant to fall. `unstall confirm` tries a tenth of the rate.

What to do
----------
Try a tenth of the rate, then again. Usual starts: 0.01 for SGD, 0.001 for Adam. A warm-up over some hundred steps helps large
models.
"""

from __future__ import annotations

from unstall.diagnosis.learning_curve import (
    LARGEST_USUAL,
    OWN_SIZE,
    Leap,
    LearningCurve,
    LossProblem,
    find_long_step,
    find_loss_problem,
    find_runaway,
    format_number,
    read_watched_curve,
    shorten_name,
)
from unstall.diagnosis.printed_output import RISEN_TIMES, find_risen, is_loss_hooked
from unstall.diagnosis.probe_facts import read_facts, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import LossPrinted
from unstall.journal.reader import Journal

BEYOND_DOUBT = 100.0  # times the largest rate that is usual, where nothing is known of the steps
SURE = 1.0  # times the weights' own size
EXPLAINS = (
    "loss_not_finite",
    "units_dead",
    "loss_not_falling",
    "weights_frozen",
    "gradients_vanishing",
    "gradients_disconnected",
)


def examine(journal: Journal) -> Verdict:
    risen = None if is_loss_hooked(journal) else find_risen(journal)
    if risen is not None:
        return _printed(*risen)
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    if not run.samples:
        return _of_rate_alone(run) or _of_loss_alone(run) or Unknown("samples of the weights", "")
    bad = find_loss_problem(run)
    if bad is None:
        return Clear("the loss does not show it")
    blamed = find_long_step(run)
    if blamed is None and not _has_steps(run):
        return _of_rate_alone(run) or Clear("no step was looked at by itself, and the rate is not beyond doubt")
    if blamed is None or blamed[0] != "rate":
        return Clear("no step was too long, or the rate is usual")
    return _found(run, bad, blamed[1])


def _printed(last: LossPrinted, first: float) -> Found:
    now = f"the loss stands at {format_number(last.mean)}, where it began at {format_number(first)}"
    return Found(
        certainty=Certainty.POSSIBLE,
        summary=f"The loss has grown without end, as with a learning rate that is too high: {now}, as the program prints it.",
        evidence=(
            Evidence(now, last.mean, RISEN_TIMES * first, (last,)),
            Evidence(f"it printed: {last.line}", None, None, (last,)),
        ),
        actions=("try a tenth of the rate, then again; usual starts: 0.01 for SGD, 0.001 for Adam", "clip the gradients"),
        effect=Effect.SPOILS,
    )


def _found(run: LearningCurve, bad: LossProblem, leap: Leap) -> Found:
    rate = format_number(leap.rate)
    usual = LARGEST_USUAL[run.optimizer]
    moved = f"step {leap.sample.step - 1:,} changed {shorten_name(leap.weight)} by {format_number(leap.ratio)} times its own size"
    place = run.model.get("optimizer_at") or run.model.get("compiled_at") or run.fit.where
    return Found(
        certainty=Certainty.CERTAIN if leap.ratio >= SURE else Certainty.LIKELY,
        summary=f"The learning rate of {rate} is too high for {run.optimizer}: {moved}, and {describe_rate(bad)}.",
        evidence=(
            Evidence(moved, leap.ratio, OWN_SIZE, (leap.sample,)),
            Evidence(f"the learning rate is {rate}; usual is up to {format_number(usual)}", leap.rate, usual, (leap.sample,)),
            Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events),
        ),
        actions=(
            f"try a tenth of the rate, {format_number((leap.rate or 0.0) / 10)}, then again; usual starts: 0.01 "
            "for SGD, 0.001 for Adam",
            "clip the gradients (clipnorm=1.0), and warm the rate up over the first some hundred steps",
        ),
        where=shorten_path(run.journal, place),
        effect=Effect.SPOILS,
    )


def _has_steps(run: LearningCurve) -> bool:
    """Whether the weights were seen before and after a step: not where many are made in one call."""
    return any(weight.get("step") is not None for sample in run.samples for weight in sample.facts["weights"])


def _of_rate_alone(run: LearningCurve) -> Found | None:
    """The loss is no number, and the rate is far beyond any that is usual."""
    rates = read_facts(run.journal, "rate", run.fit.at)
    event = rates[-1] if rates else run.samples[-1] if run.samples else None
    bad = find_loss_problem(run)
    if event is None or bad is None or bad.kind != "not finite":
        return None
    optimizer, rate = event.facts["optimizer"] if rates else run.optimizer, event.facts.get("learning_rate")
    momentum = (event.facts if rates else run.model).get("momentum") or 0.0
    usual = LARGEST_USUAL.get(optimizer)
    if rate is None or usual is None or rate / max(0.01, 1.0 - momentum) < BEYOND_DOUBT * usual:
        return None
    claim = f"the learning rate is {format_number(rate)}; usual is up to {format_number(usual)}"
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"The learning rate of {format_number(rate)} is too high for {optimizer}: usual is up to "
        f"{format_number(usual)}, and {describe_rate(bad)}.",
        evidence=(Evidence(claim, rate, usual, (event,)), Evidence(describe_rate(bad), None, None, bad.events)),
        actions=("start at the usual rate: 0.01 for SGD, 0.001 for Adam", "clip the gradients"),
        where=shorten_path(run.journal, run.model.get("optimizer_at") or run.fit.where),
        effect=Effect.SPOILS,
    )


def _of_loss_alone(run: LearningCurve) -> Found | None:
    """Nothing is known of the steps or the rate, but the loss has run away."""
    bad = find_runaway(run)
    if bad is None:
        return None
    began = f"it began at {format_number(bad.reference)}"
    if bad.kind == "zero":
        since = bad.events[1].first
        claim = f"the loss rose to {format_number(bad.loss)}, where {began}, and has been exactly 0 since step {since:,}"
    else:
        claim = f"the loss stands at {format_number(bad.loss)}, where {began}"
    return Found(
        certainty=Certainty.POSSIBLE,
        summary=f"The loss has run away, as with a learning rate that is too high: {claim}.",
        evidence=(Evidence(claim, bad.loss, bad.reference, bad.events),),
        actions=("try a tenth of the rate, then again; usual starts: 0.01 for SGD, 0.001 for Adam", "clip the gradients"),
        where=shorten_path(run.journal, run.model.get("optimizer_at") or run.fit.where),
        effect=Effect.SPOILS,
    )


def describe_rate(bad: LossProblem) -> str:
    if bad.kind == "not finite":
        return "the loss is no longer a finite number"
    if bad.kind == "far":
        return f"the loss stands at {format_number(bad.loss)}, where guessing gives {format_number(bad.reference)}"
    if bad.kind == "risen":
        return (
            f"the loss stands at {format_number(bad.loss)}, where it began at {format_number(bad.reference)} "
            "or guessing would put it"
        )
    return (
        f"the loss stands at {format_number(bad.loss)}, no better than {format_number(bad.reference)}, what "
        "guessing gives or it began with"
    )
