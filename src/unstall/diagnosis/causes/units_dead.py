"""Whole layers of ReLU units never answer: their output is always 0, so no gradient passes and they cannot learn.

What it is
----------
A ReLU whose sum is below zero for every example gives 0, and its gradient is 0 too: it can never come back. That happens when
biases start far below zero, when weights are all negative on inputs that are not, or after one step that was far too long
(then that is the cause, and stands first). If nearly all units of a layer are dead, nothing gets through, and the model
answers the same to all.

How we know
-----------
Over hundreds of steps the weights that lead into at least 90 % of a ReLU layer's units have not changed by one bit, while
other weights of the model do change, and the loss does not get better. Some dead units, even a third, are usual and no fault.

When this is wrong
------------------
If the layers are held still on purpose, by a gradient of 0 of your own.

What to do
----------
Start biases at 0 and draw weights around 0 (as Keras does by itself). Use a smaller learning rate. `leaky_relu` or `gelu`
cannot die in this way.
"""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.causes.learning_rate_too_high import describe_rate
from unstall.diagnosis.learning_curve import LearningCurve, LossProblem, find_loss_problem, read_watched_curve, shorten_name
from unstall.diagnosis.probe_facts import format_list, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import WeightsSampled
from unstall.journal.reader import Journal

EXPLAINS = ("loss_not_falling", "weights_frozen", "gradients_vanishing", "gradients_disconnected")
DEAD = 0.9  # of a layer's units
MIN_WINDOW = 100  # steps without a change
MIN_WINDOWS = 2
MIN_UNITS = 4
_DYING = ("relu", "relu6")


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    windows = [sample for sample in run.samples if sample.facts["window"] >= MIN_WINDOW]
    if not run.samples or not run.model.get("layers"):
        return Unknown("samples of the weights of a model that Keras knows", "")
    if len(windows) < MIN_WINDOWS:
        return Clear("too early to tell")
    bad = find_loss_problem(run)
    if bad is None or bad.kind == "not finite":
        return Clear("the loss does not show it")
    dead = _dead(run, windows[-MIN_WINDOWS:])
    if not dead or not _others_move(windows[-1], dead):
        return Clear("units learn, or nothing at all changes")
    return _found(run, bad, windows, dead)


def _dead(run: LearningCurve, windows: list[WeightsSampled]) -> list[dict[str, Any]]:
    """The kernels of layers with ReLU whose units have not changed in any of the windows."""
    dying = {layer["name"] for layer in run.model["layers"] if layer["activation"] in _DYING}
    found = []
    for weight in run.kernels(windows[-1]):
        same = [each for window in windows for each in window.facts["weights"] if each["name"] == weight["name"]]
        still = all(each.get("still", 0) >= DEAD * each.get("units", 1) and each.get("units", 0) >= MIN_UNITS for each in same)
        if still and len(same) == len(windows) and any(name in weight["name"].split("/") for name in dying):
            found.append(weight)
    return found


def _others_move(window: WeightsSampled, dead: list[dict[str, Any]]) -> bool:
    names = {weight["name"] for weight in dead}
    return any(
        weight.get("still", 1) < weight.get("units", 1) for weight in window.facts["weights"] if weight["name"] not in names
    )


def _found(run: LearningCurve, bad: LossProblem, windows: list[WeightsSampled], dead: list[dict[str, Any]]) -> Found:
    count = sum(weight["still"] for weight in dead)
    units = sum(weight["units"] for weight in dead)
    steps = sum(window.facts["window"] for window in windows[-MIN_WINDOWS:])
    layers = format_list([shorten_name(weight).split("/")[0] for weight in dead])
    all_of = "All" if count == units else f"{count} of"
    return Found(
        certainty=Certainty.CERTAIN if count == units else Certainty.LIKELY,
        summary=f"{all_of} {units} units of {layers} are dead: no weight into them changed in {steps:,} steps; "
        f"{describe_rate(bad)}.",
        evidence=(
            Evidence(f"the weights into {count} of {units} units of {layers} have not changed by one bit in {steps:,} steps",
                     count / units, DEAD, tuple(windows[-MIN_WINDOWS:])),
            Evidence("other weights of the model do change", None, None, (windows[-1],)),
            Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events),
        ),
        actions=(
            "start the biases at 0, and leave the weights' initial values to Keras",
            "use leaky_relu or gelu, which cannot die in this way",
            "try a tenth of the learning rate",
        ),
        where=shorten_path(run.journal, run.model.get("compiled_at") or run.fit.where),
        effect=Effect.SPOILS,
    )  # fmt: skip
