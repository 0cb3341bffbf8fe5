"""The gradients shrink from layer to layer: hardly anything reaches the first layers, so they do not learn.

What it is
----------
Each sigmoid or tanh layer passes on a quarter of the gradient at best, and each layer whose weights are drawn very small
passes on less. After ten or twenty of them in a row a billionth is left. The last layers learn what they can from a first
part that stays as it was drawn: no more than guessing.

How we know
-----------
The loss is no better than guessing. And the gradients of the first layers, as the optimizer remembers them, or as the steps
show them, are a hundred thousand times smaller than those of the last, falling from layer to layer. Layers that are dead
because of their ReLU are a cause of their own.

When this is wrong
------------------
If the first layers are meant to learn that much slower.

What to do
----------
Use ReLU, GELU or the like in hidden layers; put shortcuts around pairs of layers, and BatchNormalization or
LayerNormalization between them; use fewer layers.
"""

from __future__ import annotations

import math
from typing import Any

from unstall.diagnosis.causes.learning_rate_too_high import describe_rate
from unstall.diagnosis.learning_curve import (
    LearningCurve,
    LossProblem,
    find_loss_problem,
    format_number,
    read_watched_curve,
    shorten_name,
)
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import WeightsSampled
from unstall.journal.reader import Journal

EXPLAINS = ("loss_not_falling", "weights_frozen", "gradients_disconnected")
MIN_LAYERS = 4
WEAKER = 1e-5  # the first layer's gradient against the last layer's
IN_ORDER = 0.75  # of the pairs of layers, the earlier one must have the weaker gradient
RESOLUTION = 6e-8  # of a weight: a smaller step does not change it
_DYING = ("relu", "relu6")


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    if not run.samples:
        return Unknown("samples of the weights", "")
    if len(run.kernels(run.samples[-1])) < MIN_LAYERS:
        return Clear("too few layers for that")
    bad = find_loss_problem(run)
    if bad is None or bad.kind != "stuck":
        return Clear("the loss does not show it")
    later = [sample for sample in run.samples if sample.step > 1]
    if not later:
        return Clear("too early to tell")
    sizes = _gradients(run, later)
    if sizes is None or not _vanish(sizes) or _is_dead(run, later[-1]):
        return Clear("the gradients reach the first layers")
    return _found(run, bad, later[-1], sizes)


def _gradients(run: LearningCurve, samples: list[WeightsSampled]) -> list[tuple[dict[str, Any], float]] | None:
    """Of each layer, in order, the largest gradient seen, or what it is at most where no change can be seen."""
    rate = run.rates[-1] if run.rates else None
    found: dict[str, tuple[dict[str, Any], float]] = {}
    for sample in samples[-4:]:
        for weight in run.kernels(sample):
            size = weight.get("gradient")
            if size is None and weight.get("step") is not None and rate and run.optimizer == "SGD":
                size = max(weight["step"], RESOLUTION * (weight["rms"] or 0.0) if not weight["step"] else 0.0) / rate
            if size is not None:
                found[weight["name"]] = (weight, max(size, found.get(weight["name"], (weight, 0.0))[1]))
    return list(found.values()) if len(found) >= MIN_LAYERS else None


def _vanish(sizes: list[tuple[dict[str, Any], float]]) -> bool:
    first, last = sizes[0][1], max(size for _, size in sizes[-2:])
    if last <= 0 or first > WEAKER * last:
        return False
    pairs = [(early, late) for index, (_, early) in enumerate(sizes) for _, late in sizes[index + 1 :]]
    return sum(early <= late for early, late in pairs) >= IN_ORDER * len(pairs)


def _is_dead(run: LearningCurve, sample: WeightsSampled) -> bool:
    """ReLU layers whose gradient is exactly 0: they died, it did not fade."""
    layers = {layer["name"]: layer["activation"] for layer in run.model.get("layers") or []}
    first = run.kernels(sample)[0]
    activation = next((layers[part] for part in first["name"].split("/") if part in layers), None)
    return activation in _DYING and (first.get("gradient", first.get("step")) or 0.0) == 0.0


def _found(run: LearningCurve, bad: LossProblem, sample: WeightsSampled, sizes: list[tuple[dict[str, Any], float]]) -> Found:
    (first, weak), (last, strong) = sizes[0], max(sizes[-2:], key=lambda pair: pair[1])
    said = f"the gradient of {shorten_name(first)} is {format_number(weak)}, that of {shorten_name(last)} {format_number(strong)}"
    if weak > 0:
        times = format_number(10 ** round(math.log10(strong / weak)))
        said = f"the gradient of {shorten_name(first)} is {times} times weaker than that of {shorten_name(last)}"
    return Found(
        certainty=Certainty.CERTAIN if weak < WEAKER / 100 * strong else Certainty.LIKELY,
        summary=f"The gradients vanish on their way back: {said}, and {describe_rate(bad)}.",
        evidence=(
            Evidence(
                f"gradient of {shorten_name(first)}: {format_number(weak)} at most; "
                f"of {shorten_name(last)}: {format_number(strong)}",
                weak,
                WEAKER * strong,
                (sample,),
            ),
            Evidence(f"it mostly falls from the last of {len(sizes)} layers to the first", len(sizes), MIN_LAYERS, (sample,)),
            Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events),
        ),
        actions=(
            "use relu or gelu in the hidden layers instead of sigmoid or tanh",
            "put shortcuts around pairs of layers, and normalisation between them",
            "leave the weights' initial values to Keras",
        ),
        where=shorten_path(run.journal, run.model.get("compiled_at") or run.fit.where),
        effect=Effect.SPOILS,
    )
