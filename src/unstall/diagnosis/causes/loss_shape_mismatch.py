"""The loss is given targets and outputs whose shapes it cannot compare, and the program ended with that error.

What it is
----------
A loss compares each output with a target. Class numbers have one number for each example, where a categorical cross-entropy
expects one column for each class; a model with one output gives `(batch, 1)`, where the labels are `(batch,)`; a detector gives
one row for each anchor, where the targets have one for each object.

How we know
-----------
The error arose in a loss of Keras or PyTorch. PyTorch's loss functions are read with their arguments; of Keras, the shapes are
those that the message says. The line that compiled the model is known. A loss of your own is not judged.

When this is wrong
------------------
If the shapes are meant to be so and a wrong loss was chosen: then the loss is what must change.

What to do
----------
Class numbers: sparse categorical cross-entropy in Keras, and class numbers of shape `(batch,)` in PyTorch. One output: give the
labels the outputs' shape, or take the last side off the outputs. Detectors: encode the targets for the anchors of the model.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.failures import Failure, Shape, Value, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_relevant_line, find_unseen_end
from unstall.diagnosis.errors.line_changes import replace_text
from unstall.diagnosis.probe_facts import read_facts, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, LineChange, Verdict
from unstall.journal.events import ErrorRaised
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_user_file

EXPLAINS = ("labels_invalid",)
_SHAPE_ERRORS = re.compile(
    r"must have the same (rank|shape)|[Ss]hapes .* are incompatible|logits`? and `?labels`? must (be broadcastable|have the same)"
    r"|labels\.shape.? must equal .?logits\.shape|must be the same size \(torch|Dimensions must be equal"
    r"|incompatible shapes for broadcasting|[Ii]ncompatible shapes: "
)
_LOSS_WORDS = re.compile(r"`target` and `output`|losses\.py|compile_loss|cross_?entropy")
_TORCH_ERRORS = re.compile(
    r"[Tt]arget size .* (?:must be the same as|that is different to the) input size|to match target batch_size"
    r"|must match the size of tensor|multi-target not supported|[Ee]xpected target size|size mismatch"
)
_TORCH_LOSSES = (
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss",
    "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss", "poisson_nll_loss", "gaussian_nll_loss",
    "multilabel_soft_margin_loss",
)  # fmt: skip
# The losses of Keras for columns, each with that for class numbers.
_SPARSE = (
    ('"categorical_crossentropy"', '"sparse_categorical_crossentropy"'),
    ("'categorical_crossentropy'", "'sparse_categorical_crossentropy'"),
    (".CategoricalCrossentropy(", ".SparseCategoricalCrossentropy("),
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    in_torch = _of_torch(failure)
    if in_torch is not None:
        return in_torch
    if _SHAPE_ERRORS.search(failure.error.message) and _is_of_a_loss(failure.error):
        return _of_keras(journal, failure)
    return Clear("the error is about something else")


# --- PyTorch ---


def _of_torch(failure: Failure) -> Found | None:
    if not _TORCH_ERRORS.search(failure.text.message):
        return None
    for name in _TORCH_LOSSES:
        outputs, targets = failure.argument(name, "input"), failure.argument(name, "target")
        if outputs is not None and targets is not None and outputs.shape is not None and targets.shape is not None:
            return _found_in_torch(failure, name, outputs, targets)
    return None


def _found_in_torch(failure: Failure, name: str, outputs: Value, targets: Value) -> Found:
    raised = failure.raised
    claims = [f"{raised.place_in_words}: {raised.code}"] if raised is not None and raised.code else []
    used = [value.text for value in (raised.values if raised is not None else ()) if value.is_array]
    claims += [f"with {', '.join(used)}"] if used else []
    claims.append(f"the error that ended it: {failure.text.line}")
    shapes = f"outputs of shape {format_shape(outputs.shape)} and targets of shape {format_shape(targets.shape)}"
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{name} is given {shapes}, which it cannot compare.{_torch_dtypes(name, outputs, targets)}",
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=(
            *_torch_actions(name, outputs.shape or (), targets.shape or ()),
            *(("and make the targets floating-point: targets.float()",) if _torch_dtypes(name, outputs, targets) else ()),
        ),
        where=raised.where if raised is not None else None,
    )


def _torch_dtypes(name: str, outputs: Value, targets: Value) -> str:
    """What would be refused next: these losses take targets of the outputs' dtype alone."""
    is_whole = targets.dtype.startswith(("int", "uint", "bool"))
    if name not in ("binary_cross_entropy", "binary_cross_entropy_with_logits") or not is_whole or not outputs.dtype:
        return ""
    return f" The targets are {targets.dtype}, too, and it needs {outputs.dtype}, as the outputs are."


def _torch_actions(name: str, outputs: Shape, targets: Shape) -> tuple[str, ...]:
    takes_classes = name in ("cross_entropy", "nll_loss")
    if outputs[:1] != targets[:1] and outputs and targets:
        return ("give the loss outputs and targets of the same examples: their first sides, the number of examples, differ",)
    if takes_classes and len(targets) == len(outputs) and targets[-1:] == (1,):
        return (f"{name} takes class numbers of shape (batch,): take the last side off the targets by targets.squeeze(-1)",)
    if not takes_classes and len(outputs) == len(targets) + 1 and outputs[-1] == 1:
        return ("take the last side off the outputs by outputs.squeeze(-1)", "or add it to the targets by targets.unsqueeze(-1)")
    return ("give targets of the outputs' shape",)


# --- Keras ---


def _of_keras(journal: Journal, failure: Failure) -> Found:
    said = find_relevant_line(failure.error, _SHAPE_ERRORS)
    compiled = read_facts(journal, "compiled")
    shapes = parse_shapes(said)[-2:]
    are_classes = len(shapes) == 2 and _are_class_numbers(shapes[0], shapes[1])
    changes = _sparse(failure) if are_classes else ()
    claims = [f"`{value.name}` is a {value.words}" for line in failure.own_lines for value in line.values if value.is_array][:2]
    claims.append(f"the error that ended it: {said}")
    raised = failure.raised
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The labels and the outputs do not have the shapes that the loss needs{_between(said, shapes)}.",
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=_AS_COLUMNS if are_classes else _AS_OUTPUTS,
        where=shorten_path(journal, compiled[-1].facts["where"]) if compiled else raised.where if raised is not None else None,
        changes=changes,
    )


def _between(said: str, shapes: list[Shape]) -> str:
    if len(shapes) < 2:
        return ""
    names = ("labels of ", "outputs of ") if re.search(r"target.*output|labels.*logits", said, re.DOTALL) else ("", "")
    return f": {names[0]}{format_shape(shapes[0])} and {names[1]}{format_shape(shapes[1])}"


def _sparse(failure: Failure) -> tuple[LineChange, ...]:
    compiled = failure.compiled
    made = (
        [replace_text(compiled, before, after, "if the labels are class numbers") for before, after in _SPARSE]
        if compiled
        else []
    )
    return tuple(change for change in made if change is not None)[:1]


def _is_of_a_loss(error: ErrorRaised) -> bool:
    """Keras takes its own frames out of an error, so the message is read too. A loss of the user's own is not meant."""
    first = next((index for index, frame in enumerate(error.frames) if is_user_file(frame["file"])), len(error.frames))
    if any("keras" in frame["file"] and not is_user_file(frame["file"]) for frame in error.frames[first:]):
        return False  # Keras called the user's code, and it arose there
    if any(is_user_file(file) for file in re.findall(r'File "([^"]+)", line', error.message)):
        return False
    by_frames = any("/losses/" in frame["file"] or "entropy" in frame["function"] for frame in error.frames)
    return by_frames or bool(_LOSS_WORDS.search(error.message))


def _are_class_numbers(first: Shape, second: Shape) -> bool:
    """One number on one side, several on the other."""
    widths = [(shape[-1] or 1) if len(shape) > 1 else 1 for shape in (first, second)]
    return min(widths) == 1 < max(widths)


_AS_COLUMNS = (
    "use sparse_categorical_crossentropy for class numbers; categorical_crossentropy wants one column per class",
    "or turn the class numbers into columns: keras.utils.to_categorical(labels)",
)
_AS_OUTPUTS = ("give labels of the outputs' shape", "compare labels.shape with model.output_shape")
