"""The gradients grow from layer to layer, or from time step to time step, until one update wrecks the weights.

What it is
----------
Each layer multiplies the gradient by the size of its weights. Drawn too large, or applied again at every time step of a
recurrent net, they make it grow a thousandfold and more. At a learning rate that would be right otherwise, one update throws
the weights away, and the loss becomes astronomic or NaN.

How we know
-----------
The training is in trouble, and some step changed a layer's weights by more than their own size although the learning rate is
a usual one (a rate that is too high, or inputs that are far too large, are causes of their own). Or the loss is a thousand
times that of guessing before the first update: then the numbers grow on the way forward already. Large gradients that are
clipped, and a loss that falls, are no fault.

When this is wrong
------------------
If the targets themselves are in the hundreds or thousands and not scaled, and were not among what was looked at: then scale them.

What to do
----------
Clip the gradients: `clipnorm=1.0`. Draw the weights as Keras does by itself (Glorot, or He for ReLU). Use LSTM or GRU instead
of a plain recurrent layer, and normalisation between the layers.
"""

from __future__ import annotations

from unstall.diagnosis.batches import BatchArray, collect_batch_arrays
from unstall.diagnosis.causes.learning_rate_too_high import describe_rate
from unstall.diagnosis.learning_curve import (
    LARGEST_USUAL,
    Leap,
    LearningCurve,
    LossProblem,
    find_long_step,
    find_loss_problem,
    format_number,
    read_watched_curve,
    shorten_name,
)
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.reader import Journal

EXPLAINS = (
    "loss_not_finite",
    "units_dead",
    "loss_not_falling",
    "weights_frozen",
    "gradients_vanishing",
    "gradients_disconnected",
)
ASTRONOMIC = 1000.0  # times the loss of guessing, before any update
LEAP = 1.0  # times the weights' own size, in one step
LARGE_TARGETS = 100.0  # root mean square of what is to be predicted: the first gradients are as large


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    if not run.samples:
        return Unknown("samples of the weights", "")
    bad = find_loss_problem(run)
    if bad is None:
        return Clear("the loss does not show it")
    blamed = find_long_step(run)
    grown = _grown_forward(run)
    leap = blamed[1] if blamed is not None and blamed[0] == "gradients" and blamed[1].ratio >= LEAP else None
    if leap is None and (grown is None or bad.kind not in ("not finite", "far")):
        return Clear("no step was too long, or the rate is beyond the usual")
    return _found(run, bad, leap, grown)


def _grown_forward(run: LearningCurve) -> float | None:
    """The first loss, if it is astronomic before any update."""
    first, level = run.first_loss, run.level
    known = first is not None and level is not None and level > 0 and run.readings[0].last == 0
    return first if known and first is not None and level is not None and first > ASTRONOMIC * level else None


def _found(run: LearningCurve, bad: LossProblem, leap: Leap | None, grown: float | None) -> Found:
    evidence = [Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events)]
    said = ""
    if leap is not None:
        said = (
            f"step {leap.sample.step - 1:,} changed {shorten_name(leap.weight)} by {format_number(leap.ratio)} times its own size"
        )
        said += f", at a {'usual ' if _is_usual(run, leap) else ''}learning rate of {format_number(leap.rate)}"
        evidence.insert(0, Evidence(said, leap.ratio, LEAP, (leap.sample,)))
    if grown is not None and run.level_event is not None:
        claim = f"the first loss, before any update, is {format_number(grown)}; guessing would give {format_number(run.level)}"
        evidence.append(Evidence(claim, grown, ASTRONOMIC * (run.level or 0.0), (run.readings[0], run.level_event)))
        said = said or claim
    clipped = run.model.get("clipped")
    large = _large_targets(run)
    if large is not None:
        claim = f"the targets are as large as {format_number(large.most)}, {format_number(large.rms)} in the root mean square"
        evidence.append(Evidence(claim, large.rms, LARGE_TARGETS, tuple(large.events[:1])))
    return Found(
        certainty=Certainty.CERTAIN if leap is not None and leap.ratio >= 10 * LEAP else Certainty.LIKELY,
        summary=f"The gradients explode: {said}, and {describe_rate(bad)}."
        + (f" The targets reach {format_number(large.most)}." if large is not None else ""),
        evidence=tuple(evidence),
        actions=(
            *(("scale the targets: divide them by their largest value, or by their standard deviation",) if large else ()),
            *(() if clipped else ("clip the gradients: clipnorm=1.0 in the optimizer",)),
            "leave the weights' initial values to Keras (Glorot; he_normal for ReLU); orthogonal with gain 1 in recurrent layers",
            *(() if large else ("scale the targets, if they are in the thousands",)),
        ),
        where=shorten_path(run.journal, _place(run)),
        effect=Effect.SPOILS,
    )


def _is_usual(run: LearningCurve, leap: Leap) -> bool:
    """A rate may be beyond the usual, where the step would have been too long at a usual one as well."""
    return leap.rate is not None and leap.rate * run.gain() <= LARGEST_USUAL.get(run.optimizer, 0.0)


def _large_targets(run: LearningCurve) -> BatchArray | None:
    """What a regression is to predict, where that is far from 1. Numbers of classes are no targets in this sense."""
    if any("crossentropy" in str(loss.get("name", "")).lower().replace("_", "") for loss in run.model.get("losses") or []):
        return None
    return next((each for each in collect_batch_arrays(run, "y") if each.rms is not None and each.rms >= LARGE_TARGETS), None)


def _place(run: LearningCurve) -> str | None:
    place: str | None = run.model.get("applied_at") or run.model.get("compiled_at") or run.fit.where
    return place
