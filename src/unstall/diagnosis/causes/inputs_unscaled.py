"""The inputs are far larger than the weights are made for, and nothing in the model scales them.

What it is
----------
Layers are drawn for inputs of a size of about 1. Pixels from 0 to 255, or a column with salaries in the hundred thousands,
make the first layer's outputs hundreds of times too large: the gradients grow with them, the first updates wreck the weights,
or a softmax is exactly 0 or 1 and cannot be moved any more.

How we know
-----------
The training is in trouble: the loss is NaN, far above its start or no better than guessing. The inputs as they are fed are
larger than 10 on the whole (root of the mean square), and so is what the first layer makes of them with the weights it starts
with. The model has no Rescaling, Normalization, BatchNormalization or layer of your own in front of it. Raw inputs in a run
that learns are no fault, and neither are word numbers for an embedding.

When this is wrong
------------------
If the model class is your own and scales the inputs itself: such models are not judged.

What to do
----------
Scale the inputs to about -1 .. 1: `keras.layers.Rescaling(1 / 255)` for pixels, or `keras.layers.Normalization()`, adapted to
the data, as the model's first layer.
"""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.batches import BatchArray, collect_batch_arrays
from unstall.diagnosis.causes.learning_rate_too_high import describe_rate
from unstall.diagnosis.learning_curve import (
    USUAL,
    LearningCurve,
    LossProblem,
    find_loss_problem,
    format_number,
    read_watched_curve,
)
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.reader import Journal

EXPLAINS = (
    "learning_rate_too_high",
    "gradients_exploding",
    "units_dead",
    "loss_not_finite",
    "loss_not_falling",
    "gradients_vanishing",
    "weights_frozen",
    "gradients_disconnected",
)
LARGE = 10.0  # root mean square of the inputs
FIRST_OUTPUT = 10.0  # and of what the first layer makes of them
SMALLEST_RATE = 0.01  # of the usual one: below, the rate is what keeps it from learning
_PASSING = frozenset({
    "Flatten", "Reshape", "Permute", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "Cropping1D", "Cropping2D", "Dropout",
    "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "MaxPooling1D", "MaxPooling2D",
    "AveragePooling1D", "AveragePooling2D",
    "RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomCrop", "Resizing", "CenterCrop", "Masking", "Cast",
})  # fmt: skip
_FIRST = frozenset({
    "Dense", "Conv1D", "Conv2D", "Conv3D", "SeparableConv1D", "SeparableConv2D", "SimpleRNN", "LSTM", "GRU", "EinsumDense",
    "LSTMCell", "GRUCell", "SimpleRNNCell", "Bidirectional",
})  # fmt: skip


def examine(journal: Journal) -> Verdict:
    run = read_watched_curve(journal)
    if not isinstance(run, LearningCurve):
        return run
    inputs = [each for each in collect_batch_arrays(run, "x") if each.rms is not None]
    if not inputs or not run.samples:
        return Unknown("a look at the inputs and the weights", "")
    large = [each for each in inputs if (each.rms or 0.0) > LARGE]
    if not large:
        return Clear("the inputs are of a usual size")
    if not _goes_straight_in(run.model.get("entry")):
        return Clear("the model scales its inputs, or it is not known whether it does")
    bad = find_loss_problem(run)
    rate = run.rates[0] if run.rates else None
    if bad is None or (rate is not None and rate < SMALLEST_RATE * USUAL.get(run.optimizer, 0.0)):
        return Clear("the loss does not show it")
    first, made = _first_output(run, large[0])
    if first is None or made < FIRST_OUTPUT:
        return Clear("the first layer's weights are small enough for such inputs")
    return _found(run, bad, large[0], first, made)


def _goes_straight_in(entry: list[str] | None) -> bool:
    return bool(entry) and entry is not None and all(name in _PASSING for name in entry[:-1]) and entry[-1] in _FIRST


def _first_output(run: LearningCurve, inputs: BatchArray) -> tuple[dict[str, Any] | None, float]:
    """(the first kernel, the size of what it makes of the inputs at the start)"""
    kernels = run.kernels(run.samples[0])
    if not kernels:
        return None, 0.0
    first = kernels[0]
    many = 1
    for part in first["shape"][:-1]:
        many *= max(1, part)
    return first, float((inputs.rms or 0.0) * first["start"] * many**0.5)


def _found(run: LearningCurve, bad: LossProblem, inputs: BatchArray, first: dict[str, Any], made: float) -> Found:
    size = f"from {format_number(inputs.least)} to {format_number(inputs.most)} (root mean square {format_number(inputs.rms)})"
    return Found(
        certainty=Certainty.CERTAIN if bad.kind == "not finite" else Certainty.LIKELY,
        summary=f"The {inputs.label} go {size} straight into the first layer, which is made for about 1, "
        f"and {describe_rate(bad)}.",
        evidence=(
            Evidence(f"{inputs.label} {size}", inputs.rms, LARGE, tuple(inputs.events)),
            Evidence(
                f"by the size of its weights at the start, the first layer makes numbers of about {format_number(made)} of them",
                made,
                FIRST_OUTPUT,
                (run.samples[0],),
            ),
            Evidence(describe_rate(bad), bad.loss, bad.reference, bad.events),
        ),
        actions=(
            "scale them in the model: keras.layers.Rescaling(1 / 255) for pixels, as its first layer"
            if (inputs.most or 0.0) <= 255 and (inputs.least or 0.0) >= 0
            else "put keras.layers.Normalization(), adapted to the data, in front of the first layer",
            "or scale them in the pipeline, the same way for training and for use",
        ),
        where=shorten_path(run.journal, run.fit.where),
        effect=Effect.SPOILS,
    )
