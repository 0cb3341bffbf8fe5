"""The loss and the last layer do not belong together: the loss reads the outputs as something that they are not.

What it is
----------
A softmax over a single unit is always 1. Raw scores (a last layer without activation) given to a cross-entropy that expects
probabilities are cut off at 0 and 1. A sigmoid or softmax whose result is given to a loss with `from_logits=True` is applied
twice. One class number compared with ten outputs by a squared error is compared with each of them. A loss for two classes
cannot learn seven. Targets of 50 cannot be reached by a sigmoid.

How we know
-----------
From the model itself, where Keras knows its graph (Sequential and functional models): the last activation, the number of
units, the loss and its `from_logits`; and from the range and shape of the labels. A loss of your own, and a model class of
your own, are not judged. Where the program stops with an error because the shapes do not fit, that is `loss_shape_mismatch`.

When this is wrong
------------------
If something outside the graph changes the outputs before the loss sees them.

What to do
----------
One unit: sigmoid with binary cross-entropy. Several classes: softmax with (sparse) categorical cross-entropy. No activation:
give the loss `from_logits=True`. Class numbers: sparse categorical; one column per class: categorical. Measurements: no
activation and mean squared error.
"""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.batches import BatchArray, find_labels
from unstall.diagnosis.learning_curve import LearningCurve, format_number, read_current_curve
from unstall.diagnosis.probe_facts import find_missing_probe, read_facts, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import Event
from unstall.journal.reader import Journal

EXPLAINS = (
    "labels_invalid",
    "loss_not_finite",
    "loss_not_falling",
    "units_dead",
    "learning_rate_too_high",
    "gradients_vanishing",
    "weights_frozen",
)
OUT_OF_REACH = 0.5  # targets further than this outside of what the last layer can give
MAX_CLASSES = 1000  # whole numbers up to here are taken for classes
_ENTROPIES = {
    "binarycrossentropy": "binary cross-entropy",
    "binaryfocalcrossentropy": "binary focal cross-entropy",
    "categoricalcrossentropy": "categorical cross-entropy",
    "categoricalfocalcrossentropy": "categorical focal cross-entropy",
    "sparsecategoricalcrossentropy": "sparse categorical cross-entropy",
}
_DISTANCES = {
    "meansquarederror": "the mean squared error",
    "meanabsoluteerror": "the mean absolute error",
    "huber": "the Huber loss",
    "logcosh": "the log-cosh loss",
    "meanabsolutepercentageerror": "the mean absolute percentage error",
}
_RANGES = {"sigmoid": (0.0, 1.0), "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0), "hard_sigmoid": (0.0, 1.0)}
# What an operation of TensorFlow gives, where it is the last before the loss.
_MADE_BY = {"Softmax": "softmax", "Sigmoid": "sigmoid", "BiasAdd": "linear", "MatMul": "linear", "Relu": "relu", "Tanh": "tanh"}
TOLERANCE = 1e-3  # of a probability
_NO_PROBABILITIES = ("linear", "relu", "tanh", "leaky_relu", "elu", "selu", "gelu")
Said = tuple[Certainty, str, tuple[str, ...]]
Facts = dict[str, Any]


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    run = read_current_curve(journal)
    if run is None:
        return Clear("no training was seen")
    called = _as_called(run)
    if called is not None:
        return called
    if run.model.get("own_step") or run.model_event is None:
        return Clear("the step, or the loss, is the program's own")
    for index, output in enumerate(run.model.get("outputs") or []):
        losses = run.model.get("losses") or []
        if index >= len(losses) or not losses[index].get("name"):
            continue
        labels = find_labels(run, index)
        said = _structure(run, output, losses[index]) or _against_labels(output, losses[index], labels)
        if said is not None:
            return _found(run, output, losses[index], labels, said)
    return Clear("loss and outputs belong together, as far as they are known")


def _structure(run: LearningCurve, output: Facts, loss: Facts) -> Said | None:
    """What is wrong whatever the data."""
    return (
        _one_unit(output, loss)
        or _no_probabilities(output, loss)
        or _applied_twice(run, output, loss)
        or _of_the_other_kind(output, loss)
    )


def _as_called(run: LearningCurve) -> Found | None:
    """Where Keras does not know the graph: what the loss was really given, in one's own loop or model class."""
    if run.model.get("outputs"):
        return None
    for event in read_facts(run.journal, "loss_called"):
        seen = event.facts
        output = {"units": seen["shape"][-1] if seen["shape"] else None, "rank": len(seen["shape"]), "axis": -1}
        outside = seen.get("least") is not None and (seen["least"] < -TOLERANCE or seen["most"] > 1 + TOLERANCE)
        activation = "linear" if outside else _MADE_BY.get(seen["made_by"] or "")
        values = f"values from {format_number(seen['least'])} to {format_number(seen['most'])}" if outside else ""
        said = _structure(run, {**output, "activation": activation, "values": values}, seen)
        if said is None:
            continue
        how = values or f"made by {seen['made_by']}"
        claim = (
            f"predictions of shape {seen['shape']}, {how}, given to {_ENTROPIES[seen['name']]}, from_logits={seen['from_logits']}"
        )
        return Found(
            certainty=min(said[0], Certainty.CERTAIN if outside else Certainty.LIKELY),
            summary=said[1],
            evidence=(Evidence(claim, None, None, (event,)),),
            actions=said[2],
            where=shorten_path(run.journal, run.model.get("compiled_at") or seen["where"]),
            effect=Effect.SPOILS,
        )
    return None


def _one_unit(output: Facts, loss: Facts) -> Said | None:
    if output["units"] != 1:
        return None
    if output["activation"] == "softmax" and output.get("axis") in (-1, output.get("rank", 0) - 1):
        return (
            Certainty.CERTAIN,
            "A softmax over a single unit is always 1, whatever the input: the model cannot answer anything else.",
            (
                "use a sigmoid for one unit, with binary cross-entropy",
                "or two units with the softmax, and sparse categorical cross-entropy",
            ),
        )
    if loss["name"] in ("categoricalcrossentropy", "sparsecategoricalcrossentropy") and output.get("rank") == 2:
        return (
            Certainty.CERTAIN,
            f"The model has one output, but {_ENTROPIES[loss['name']]} needs one for each class.",
            (
                "use binary_crossentropy with a sigmoid for two classes",
                "or give the last layer one unit per class",
            ),
        )
    return None


def _no_probabilities(output: Facts, loss: Facts) -> Said | None:
    name, activation = loss["name"], output["activation"]
    if name not in _ENTROPIES or loss.get("from_logits") or activation not in _NO_PROBABILITIES:
        return None
    plain = activation == "linear"
    what = "raw scores (its last layer has no activation)" if plain else f"the values of a {activation}"
    what = output.get("values") or what  # where the last layer is not known, and only what it gives is seen
    last = "softmax" if "categorical" in name else "sigmoid"
    return (
        Certainty.CERTAIN,
        f"The model gives {what}, but {_ENTROPIES[name]} takes them for probabilities: what is below 0 or above 1 is cut off.",
        (
            "tell the loss: from_logits=True" + ("" if plain else ", and take the activation off the last layer"),
            f"or end the model in a {last}",
        ),
    )


def _applied_twice(run: LearningCurve, output: Facts, loss: Facts) -> Said | None:
    name, activation = loss["name"], output["activation"]
    if name not in _ENTROPIES or not loss.get("from_logits") or activation not in ("sigmoid", "softmax"):
        return None
    is_wrapped = run.fit.backend == "tensorflow"
    more = (
        "Keras on TensorFlow notices and puts it right by itself; the other backends do not."
        if is_wrapped
        else "No prediction can be sure that way."
    )
    return (
        Certainty.LIKELY if is_wrapped else Certainty.CERTAIN,
        f"The model ends in a {activation}, and {_ENTROPIES[name]} with from_logits=True applies another one. {more}",
        ("take from_logits=True away", "or take the activation off the last layer"),
    )


def _of_the_other_kind(output: Facts, loss: Facts) -> Said | None:
    """A softmax over many classes with the loss for yes and no, or the other way round. It trains, but not what is meant."""
    name, activation, units = loss["name"], output["activation"], output["units"] or 0
    if name.startswith("binary") and activation == "softmax" and units > 2:
        return (
            Certainty.LIKELY,
            f"The model tells {units} classes apart by a softmax, but {_ENTROPIES[name]} treats each as a yes or no of its own.",
            ("use categorical_crossentropy for one column per class, or sparse_categorical_crossentropy for class numbers",),
        )
    if name in ("categoricalcrossentropy", "sparsecategoricalcrossentropy") and activation == "sigmoid" and units > 1:
        return (
            Certainty.LIKELY,
            f"The model gives {units} separate yes-or-no answers by sigmoids, but {_ENTROPIES[name]} takes them for one choice.",
            (
                "end the model in a softmax, if only one class can be right",
                "or use binary_crossentropy, if several can be right at once",
            ),
        )
    return None


def _against_labels(output: Facts, loss: Facts, labels: BatchArray | None) -> Said | None:
    if labels is None or labels.least is None or labels.most is None:
        return None
    classes = bool(labels.whole) and labels.least >= 0 and labels.most < MAX_CLASSES
    return (
        _one_against_many(output, loss, labels, classes)
        or _many_classes(output, loss, labels.most, classes and len(labels.lowest) > 2)
        or _out_of_reach(output, loss, labels.least, labels.most, labels.rms or 0.0)
    )


def _one_against_many(output: Facts, loss: Facts, labels: BatchArray, classes: bool) -> Said | None:
    units, name = output["units"], loss["name"]
    one = len(labels.shape) == output.get("rank") and labels.shape[-1] == 1
    if name not in _DISTANCES or not units or units <= 1 or not one:
        return None
    what = "one class number" if classes else "one number"
    return (
        Certainty.CERTAIN,
        f"The labels hold {what} for each example, the model has {units} outputs: {_DISTANCES[name]} compares it with every one.",
        (
            "use sparse_categorical_crossentropy for class numbers" if classes else "give the last layer one unit",
            "or give labels of the outputs' shape",
        ),
    )


def _many_classes(output: Facts, loss: Facts, most: float, classes: bool) -> Said | None:
    if not loss["name"].startswith("binary") or output["units"] != 1 or not classes:
        return None
    named = _ENTROPIES.get(loss["name"], loss["name"])
    return (
        Certainty.CERTAIN,
        f"The labels are class numbers up to {most:.0f}, but one output with {named} can tell only two apart.",
        (f"give the last layer {most + 1:.0f} units with a softmax, and use sparse_categorical_crossentropy",),
    )


def _out_of_reach(output: Facts, loss: Facts, least: float, most: float, size: float) -> Said | None:
    """Targets that the last activation cannot give, most of them."""
    reach = _RANGES.get(str(output["activation"]))
    if loss["name"] not in _DISTANCES or reach is None or size <= reach[1] + OUT_OF_REACH:
        return None
    if most <= reach[1] + OUT_OF_REACH and least >= reach[0] - OUT_OF_REACH:
        return None
    return (
        Certainty.CERTAIN,
        f"The targets go from {format_number(least)} to {format_number(most)}, but a {output['activation']} "
        f"gives {reach[0]:g} to {reach[1]:g}.",
        ("take the activation off the last layer", f"or scale the targets to {reach[0]:g} .. {reach[1]:g}"),
    )


def _found(run: LearningCurve, output: Facts, loss: Facts, labels: BatchArray | None, said: Said) -> Found:
    certainty, summary, do = said
    described = run.model_event
    assert described is not None
    logits = f", from_logits={loss['from_logits']}" if loss["name"] in _ENTROPIES else ""
    named = _ENTROPIES.get(loss["name"]) or _DISTANCES.get(loss["name"]) or loss["name"]
    claim = f"last layer: {output['units']} units, activation {output['activation']}; loss: {named}{logits}"
    evidence = [Evidence(claim, None, None, (described,))]
    if labels is not None and labels.least is not None:
        events: tuple[Event, ...] = tuple(labels.events)
        claim = f"labels of shape {labels.shape}, from {format_number(labels.least)} to {format_number(labels.most)}"
        evidence.append(Evidence(claim, labels.most, None, events))
    return Found(
        certainty=certainty,
        summary=summary,
        evidence=tuple(evidence),
        actions=do,
        where=shorten_path(run.journal, run.model.get("compiled_at") or run.fit.where),
        effect=Effect.SPOILS,
    )
