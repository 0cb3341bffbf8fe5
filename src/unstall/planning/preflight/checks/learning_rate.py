"""Whether the learning rate is one at which this detector learns.

What is looked at
-----------------
A few steps on the first batches, from the first weights, at the rate of the settings after a short warm-up; and the same at a
tenth and at ten times of it. Each begins again from the same weights. How fast steps are is measured on the way.

Why it matters
--------------
A rate that is too high ends in a loss that is not finite, or in one that never falls again. One that is far too low looks
like a training that works, for days.

When this is wrong
------------------
A few steps show a rate that is wrong by a factor of ten and more, not one that is wrong by two: `unstall lr-find` looks closer.
A long warm-up carries a run through a rate that would be too high at its start.

What to do
----------
The rate that is named; or `unstall lr-find`, which draws the loss over all rates.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from unstall.config.sources import get_recipe
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckUnknown, CheckWarning, Context

if TYPE_CHECKING:
    from unstall.training.lr_finder import Trial

NEEDS = ("data_set", "packages", "memory_plan", "host_memory")
IS_QUICK = False
MAX_S = 120.0  # for all steps: with a large detector and without a card they would take an hour
STEPS = 12  # at each rate
WARM_UP = 4  # of these
BATCHES = 3  # that are learned again and again
FACTOR = 10.0  # between the rates
RISEN = 1.5  # times the first loss: it is not learning
EXPLODED = 20.0  # times the first loss: it will not come back
HARDLY = 0.02  # of the first loss; a fall of less is none
FAR_BELOW = 100.0  # times below the recipe's: then a loss that does not move is the rate's doing
FAR_BETTER = 5.0  # times the fall, at ten times the rate: the rate is too low


def look(context: Context) -> CheckResult:
    from unstall.training.lr_finder import Trial

    return try_rate(Trial(context.settings, context.folder, context.progress), context.settings.learning_rate, context)


def try_rate(trial: Trial, rate: float, context: Context) -> CheckResult:
    with trial.batches() as batches:
        some = [next(batches) for _ in range(BATCHES)]
    trial.loss_at(0.0, some[0])  # compiles
    began = time.perf_counter()
    at_first = sum(trial.loss_at(0.0, batch) for batch in some) / BATCHES  # nothing is changed at a rate of 0
    step_s = (time.perf_counter() - began) / BATCHES
    context.measured_images_per_s = context.settings.batch_size / step_s
    if 3 * STEPS * step_s > MAX_S:
        return CheckUnknown(
            f"a step takes {step_s:.1f} s here, and {3 * STEPS} would be needed", "unstall lr-find, which takes the time"
        )
    here, lower, higher = (_losses(trial, rate * factor, some, context) for factor in (1.0, 1 / FACTOR, FACTOR))
    recipe = get_recipe(context.settings.model)
    is_alike = recipe["optimizer"] == context.settings.optimizer and context.settings.weights is None
    usual = (
        float(recipe["learning_rate"]) if is_alike else 0.0
    )  # for another optimizer, or weights that have learned, it says nothing
    return judge(rate, at_first, here, lower, higher, context.measured_images_per_s, usual)


def _losses(trial: Trial, rate: float, some: list[dict[str, Any]], context: Context) -> list[float]:
    trial.begin_again()
    losses = []
    for step in range(STEPS):
        losses.append(trial.loss_at(rate * min(1.0, (step + 1) / WARM_UP), some[step % BATCHES]))
        if context.progress is not None:
            context.progress(f"trying the rate {rate:g}", step + 1, STEPS)
    return losses


def judge(
    rate: float, at_first: float, here: list[float], lower: list[float], higher: list[float], images_per_s: float,
    usual: float = 0.0,
) -> CheckResult:  # fmt: skip
    """`at_first` is the mean loss of the batches before any update; what is compared with it is that of their last round. `usual`
    is the rate of the model's recipe."""
    facts = {
        "learning_rate": rate, "initial_loss": at_first, "losses": here, "losses_at_a_tenth": lower,
        "losses_at_ten_times": higher, "images_per_s": images_per_s,
    }  # fmt: skip
    last = _last(here)
    said = f"loss {at_first:.3g} → {last:.3g} in {len(here)} steps at {rate:g}, {images_per_s:.1f} images/s"
    if not math.isfinite(at_first):
        fix = "look at the data (`unstall data check`), the weights and --precision: a lower rate does not help"
        return CheckError("the loss is not finite before any update", fix, facts)
    if not math.isfinite(last) or last > EXPLODED * at_first:
        return CheckError(f"{said}: the rate is too high", _lower_rate(rate, at_first, lower), facts)
    if last > RISEN * at_first:
        return CheckWarning(f"{said}: it rises", f"{_lower_rate(rate, at_first, lower)}, or a longer --warmup-steps", facts)
    fall, better = at_first - last, at_first - _last(higher)
    if fall < HARDLY * at_first and better > FAR_BETTER * max(fall, HARDLY * at_first / FAR_BETTER):
        fix = f"--learning-rate {rate * FACTOR:g}, or `unstall lr-find`"
        return CheckWarning(f"{said}: hardly any fall; ten times the rate falls by {better:.3g}", fix, facts)
    if rate * FAR_BELOW < usual and max(abs(fall), abs(better)) < HARDLY * at_first:
        reason = f"{said}: it does not move, nor at ten times the rate; the model's recipe has {usual:g}"
        return CheckWarning(reason, f"--learning-rate {usual:g}, or `unstall lr-find`", facts)
    return CheckOk(said, facts)


def _lower_rate(rate: float, at_first: float, lower: list[float]) -> str:
    """A tenth, if it was seen to be low enough."""
    is_low_enough = math.isfinite(_last(lower)) and _last(lower) <= (1 + HARDLY) * at_first
    return (
        f"--learning-rate {rate / FACTOR:g}, or `unstall lr-find`"
        if is_low_enough
        else "`unstall lr-find`: a tenth is too high, too"
    )


def _last(losses: list[float]) -> float:
    """The mean of the last round over the batches."""
    return sum(losses[-BATCHES:]) / BATCHES
