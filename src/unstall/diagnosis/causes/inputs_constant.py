"""Every number of the inputs is the same, so that nothing can be told from them.

What it is
----------
The data came to nothing on their way: whole numbers divided by `//` or before they became floats are all 0, a mask was
applied the wrong way round, an empty array was filled by nobody, a path was wrong and a placeholder was read. No error is
raised. The training learns how often each answer is right, and no more; units stay dead and gradients vanish, which are not
the cause.

How we know
-----------
All the numbers that were looked at, of all inputs of the model, are one and the same; and the loss stands where mere guessing
puts it, or where it began. Where one of several inputs is constant, or where the loss falls, nothing is said.

When this is wrong
------------------
If hardly any number of the inputs differs from the rest, and none of those was among what was looked at.

What to do
----------
Look at what is fed: `x.min()`, `x.max()`. Make pixels floats before they are divided: `x.astype("float32") / 255`.
"""

from __future__ import annotations

from unstall.diagnosis.batches import BatchArray, collect_batch_arrays
from unstall.diagnosis.causes.learning_rate_too_high import describe_rate
from unstall.diagnosis.learning_curve import LearningCurve, find_loss_problem, format_number, read_watched_curve
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.reader import Journal

EXPLAINS = (
    "units_dead",
    "loss_not_falling",
    "weights_frozen",
    "gradients_vanishing",
    "gradients_disconnected",
    "learning_rate_too_low",
    "batch_constant",
)
MIN_LOOKED_AT = 1000  # numbers: fewer may be the same by chance, or be a flag


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    inputs = [each for each in collect_batch_arrays(run, "x") if each.least is not None]
    if not inputs:
        return Unknown("a look at the inputs", "")
    if any(each.least != each.most for each in inputs) or _looked_at(inputs) < MIN_LOOKED_AT:
        return Clear("the inputs differ")
    bad = find_loss_problem(run)
    if bad is None or bad.kind == "not finite":
        return Clear("the loss does not show it")
    what, value, count = inputs[0].label, format_number(inputs[0].least), _looked_at(inputs)
    kind = f" (of the kind {inputs[0].dtype})" if inputs[0].dtype else ""
    return Found(
        certainty=Certainty.CERTAIN if count >= _size(inputs) else Certainty.LIKELY,
        summary=f"All {count:,} numbers of the {what}{kind} that were looked at are {value}, and {describe_rate(bad)}.",
        evidence=(
            Evidence(
                f"all {count:,} numbers of the {what} that were looked at are {value}", value, None, tuple(inputs[0].events)
            ),
            Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events),
        ),
        actions=(
            'make whole numbers floats before they are divided: x.astype("float32") / 255, never //',
            "look at what comes out of your preprocessing, right before fit: x.min(), x.max()",
        ),
        where=shorten_path(journal, run.fit.where),
        effect=Effect.SPOILS,
    )


def _looked_at(inputs: list[BatchArray]) -> int:
    return sum(
        int(facts.get("looked_at", 0))
        for each in inputs
        for event in each.events
        for facts in event.facts["arrays"]
        if facts["role"] == "x" and facts["name"] == each.name
    )


def _size(inputs: list[BatchArray]) -> int:
    """Of all the arrays, as far as their shapes say."""
    total = 0
    for each in inputs:
        count = 1
        for part in each.shape:
            count *= max(1, part)
        total += count
    return total
