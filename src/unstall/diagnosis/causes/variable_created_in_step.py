"""A function that TensorFlow compiles makes variables each time it is traced: layers, optimizers and metrics made inside of it.

What it is
----------
`tf.function`, and `fit` with it, runs the Python of a step only to trace it. Variables that are made there would be new ones in
each trace, with new values: nothing would be learned in them. TensorFlow therefore lets a function make variables in its first
trace alone, if it keeps them. A layer, an optimizer or a metric that is made inside the function has variables, too, and an
optimizer makes some more when it is first given the variables of a model.

How we know
-----------
TensorFlow refuses the variable while it traces the function, and the innermost line of the program's own is the one that makes
it.

When this is wrong
------------------
If the function was not meant to be compiled: then leave out `tf.function`, or compile with `run_eagerly=True`.

What to do
----------
Make layers in `__init__` of the layer or model, variables in `build`, and optimizers and metrics before the first step.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import describe_failure
from unstall.diagnosis.errors.failures import UserLine, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

# From TensorFlow 2.5 on, and before.
_REFUSED = re.compile(r"tf\.function only supports singleton tf\.Variables|tried to create variables on (?:a )?non-first call")
_UPDATES = re.compile(r"\.(?:apply_gradients|minimize|apply)\(")
_OPTIMIZER = re.compile(r"\b(?:optimizers?\.\w+|SGD|Adam\w*|RMSprop|Adagrad|Adadelta|Nadam|Ftrl|Lion)\(")
_METRIC = re.compile(r"\bmetrics?\.[A-Z]\w*\(")
_LAYER = re.compile(r"\b(?:layers\.[A-Z]\w*|Dense|Conv[123]D\w*|Embedding|LSTM|GRU|BatchNormalization|LayerNormalization)\(")
_VARIABLE = re.compile(r"\bVariable\(|\badd_weight\(")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if not any(_REFUSED.search(text) for text in format_texts(failure.error)[:2]):
        return Clear("the error is about something else")
    what, advice = _describe(failure.raised)
    raised = failure.raised
    in_function = f" in {raised.function}" if raised is not None and not raised.function.startswith("<") else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{what}{in_function}, which TensorFlow compiles. It would make new variables each time it is traced, "
        "so TensorFlow refuses it.",
        evidence=describe_failure(failure),
        actions=(*advice, "or run the function eagerly, which is slower: without tf.function, or compile(run_eagerly=True)"),
        where=raised.where if raised is not None else None,
    )


def _describe(line: UserLine | None) -> tuple[str, tuple[str, ...]]:
    code = line.code if line is not None else ""
    if _UPDATES.search(code):
        return (
            "An optimizer is given variables that it does not know yet, and makes its own for them",
            (
                "let it make them before the training: optimizer.build(model.trainable_variables)",
                "for each model an optimizer and a compiled function of its own",
            ),
        )
    if _OPTIMIZER.search(code):
        return "An optimizer is made", ("make the optimizer once, before the function is first called",)
    if _METRIC.search(code):
        return "A metric is made", (
            "make the metric once, before the function is first called, and reset its state where needed",
        )
    if _VARIABLE.search(code):
        return (
            "A variable is made",
            ("make it outside: in build or __init__ of a layer or tf.Module, or before the function is first called",),
        )
    if _LAYER.search(code):
        return "A layer is made", ("make the layer in __init__, as an attribute, and call it here: self.layer(x)",)
    return (
        "This line makes variables",
        ("make what has variables (layers, models, optimizers, metrics) before the function is first called",),
    )
