"""Nothing changes the weights that should be trained: they are frozen, the rate is 0, or the gradients are not applied to them.

What it is
----------
The training runs, the loss is computed, and the weights stay what they were. Everything was set to `trainable = False` (and "the
last layer" that was set free again has no weights), the learning rate is exactly 0, the optimizer is never called, or it is
given the variables of another model.

How we know
-----------
Some weights are read every few seconds: not one bit has changed. Where the model itself has no trainable weights at all, that
is enough. A model with some layers frozen on purpose is left alone as long as anything learns, and so is one whose loss is 0
already. In a JAX loop the weights are what the gradient is computed for. They are looked at where each step is given new ones.
They are judged where all of them can be read, up to 32 MiB (4 MiB where they do not lie in host memory), and where nothing else
of their shapes changes from step to step, but the state of an optimizer of Optax.

When this is wrong
------------------
If nothing is meant to be learned, and fit is used to measure something.

What to do
----------
Set free what is to learn, before compile; check the learning rate; apply the gradients, to the variables of the model that
computes the loss.
"""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.probe_facts import (
    count_steps_done,
    find_current_fit,
    find_missing_probe,
    format_list,
    read_facts,
    shorten_path,
    train_groups,
)
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import FitBegan, LoopSeen
from unstall.journal.reader import Journal

EXPLAINS = ("loss_not_falling", "learning_rate_too_low", "gradients_vanishing")
MIN_STEPS = 50  # without a change, where it is seen why
MIN_STEPS_UNEXPLAINED = 500  # without a change, where it is not
MIN_SAMPLES = 2


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    fit = find_current_fit(journal)
    groups = train_groups(journal)
    if fit is None or not groups:
        return Clear("no training was seen")
    nothing = _nothing_trainable(journal, fit)
    if nothing is not None:
        return _found_nothing(journal, fit, nothing)
    samples = read_facts(journal, "weights", fit.at)
    if any(sample.facts["changed"] for sample in samples):
        return Clear("the weights change")
    if len(samples) < MIN_SAMPLES:
        return Clear("too early to tell")
    losses = [group.loss for group in groups if group.loss is not None]
    if losses and losses[-1] == 0:
        return Clear("the loss is 0: there is nothing to change")
    last = samples[-1]
    reason = _reason(journal, last.facts)
    steps = min(last.facts["step"], count_steps_done(groups))
    if reason is not None and steps >= MIN_STEPS:
        return _found(journal, last, steps, Certainty.CERTAIN, *reason)
    if reason is None and losses and last.facts["applied"] and steps >= MIN_STEPS_UNEXPLAINED:
        return _found(journal, last, steps, Certainty.LIKELY, *_guess(journal, last.facts))
    return Clear("no sign that anything is frozen by mistake")


def _nothing_trainable(journal: Journal, fit: FitBegan) -> LoopSeen | None:
    seen = [
        event
        for event in read_facts(journal, "trainable", fit.at)
        if event.facts["variables"] == 0 and event.facts["all_parameters"] > 0
    ]
    trains_others = read_facts(journal, "asked", fit.at)
    return seen[-1] if seen and not trains_others else None


def _found_nothing(journal: Journal, fit: FitBegan, event: LoopSeen) -> Found:
    seen = event.facts
    place = shorten_path(journal, seen["frozen_at"]) or shorten_path(journal, fit.where)
    at = f" at {shorten_path(journal, seen['frozen_at'])}" if seen["frozen_at"] else ""
    layers = f" ({format_list(seen['frozen_layers'])})" if seen["frozen_layers"] else ""
    frozen = f"all {seen['all_parameters']:,} parameters are frozen{at}"
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The model has no trainable weights: {frozen}.",
        evidence=(Evidence(f"0 of {seen['all_parameters']:,} parameters are trainable{layers}", 0, None, (event,)),),
        actions=(
            "set trainable = True on the layers that are to learn, before compile",
            "check that the layer you set free has weights: an activation or a dropout has none",
        ),
        where=place,
        effect=Effect.SPOILS,
    )


def _reason(journal: Journal, seen: dict[str, Any]) -> tuple[str, str | None, tuple[str, ...]] | None:
    """(why, the user's line, what to do), or None if it was not seen why."""
    if seen["learning_rate"] == 0:
        return (
            "the learning rate is exactly 0",
            shorten_path(journal, seen["learning_rate_at"]),
            ("give a learning rate above 0; mind integer division in a schedule",),
        )
    if seen["in_fit"] and not seen["asked_in_fit"]:
        return None
    asked, applied = shorten_path(journal, seen["asked_at"]), shorten_path(journal, seen["applied_at"])
    if not seen["applied"] and seen["optimizers"]:
        at = f" computed at {asked}" if asked else ""
        return (
            f"the gradients{at} were not seen to be given to the optimizer",
            asked,
            ("call optimizer.apply_gradients(zip(gradients, variables)) in each step",),
        )
    if seen["applied"] and not seen["applied_to_these"]:
        at = f" at {applied}" if applied else ""
        return (
            f"the optimizer is given other variables{at} than those that the loss depends on",
            applied,
            ("apply the gradients to the variables of the model that computes the loss",),
        )
    return None


def _guess(journal: Journal, seen: dict[str, Any]) -> tuple[str, str | None, tuple[str, ...]]:
    """The same where it can be one thing or another."""
    look = "look at the gradients: print their norms for one step"
    if seen.get("cut_at"):  # of JAX, where no gradient is seen: something on the way has none, and other ways may have one
        place, by = shorten_path(journal, seen["cut_at"]), seen["cut_by"]
        why = f"the loss calls {by} at {place}, which has no gradient, or the learning rate is exactly zero"
        return why, place, (f"let the weights reach the loss without {by}", look)
    zero = "the gradients may be exactly zero"
    if seen["learning_rate"] is None:
        zero = "the gradients, or the learning rate, may be exactly zero"
    return f"no reason was seen: {zero}", None, (look,)


def _found(
    journal: Journal, last: LoopSeen, steps: int, certainty: Certainty, why: str, place: str | None, do: tuple[str, ...]
) -> Found:
    names = last.facts["unchanged"]
    return Found(
        certainty=certainty,
        summary=f"No weight that was looked at has changed: {why}.",
        evidence=(
            Evidence(f"{format_list(names)}: not one bit has changed in {steps:,} steps", steps, MIN_STEPS, (last,)),
            Evidence(why, last.facts["learning_rate"], None, (last,)),
        ),
        actions=do,
        where=place,
        effect=Effect.SPOILS,
    )
