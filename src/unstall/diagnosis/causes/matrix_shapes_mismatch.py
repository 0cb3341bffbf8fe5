"""Arrays whose shapes do not go together were multiplied, added, joined or given to a layer.

What it is
----------
A product needs as many columns of the first as the second has rows, a sum needs sides that are equal or 1, and a layer takes the
number of features or channels that it was made for. Often the size of the images was changed and not the layer behind the
flattened features, a dimension for the batch is missing, or the channels stand last.

How we know
-----------
PyTorch, JAX and NumPy refuse the operation. Unstall compares the shapes of the values in the line that failed, or of what
the layer was given, with what the operation or the layer needs, and says which sides differ. Layers of Keras are not judged here.

When this is wrong
------------------
Which of the two sides is the wrong one cannot be known from the shapes: the layer may be made for the wrong size, or the input
may have it.

What to do
----------
Look at both shapes. Make the layer for what it is given, or bring the input into the shape that the layer was made for.
"""

from __future__ import annotations

import math
import re
from typing import Any

from unstall.diagnosis.errors.evidence import Explanation, are_operands, describe_failure, find_failing_arrays, rename_by_own_name
from unstall.diagnosis.errors.failures import Failure, Maker, Shape, Value, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.jax_transformations import explain_transformation
from unstall.diagnosis.errors.last_batches import explain_last_batch
from unstall.diagnosis.errors.line_changes import replace_argument
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

_KINDS = ("RuntimeError", "ValueError", "TypeError", "AssertionError", "IndexError")
_PRODUCT = re.compile(
    r"shapes cannot be multiplied|mismatch in its core dimension|not aligned|contracting dimensions to have the same shape"
    r"|size for first two dimensions of batch2|inconsistent tensor size, expected tensor|size mismatch, got input"
)
_BROADCAST = re.compile(
    r"must match the size of tensor b|could not be broadcast together|incompatible shapes for broadcasting"
    r"|Incompatible (?:types|shapes) for broadcasting|The expanded size of the tensor|could not broadcast input array"
)
_TELLS_BOTH = re.compile(  # messages with the whole shapes of both arrays
    r"shapes cannot be multiplied|not aligned|could not be broadcast together|incompatible shapes for broadcasting"
)
_JOINED = re.compile(
    r"Sizes of tensors must match except in dimension|Cannot concatenate arrays with shapes that differ"
    r"|dimensions except for the concatenation axis must match"
)
_RESHAPED = re.compile(r"is invalid for input of size|cannot reshape array of (?:size|shape)|view size is not compatible")
_OF_ARRAYS = (
    (
        re.compile(r"einsum\(\): subscript|Size of label '"),
        "An einsum was given arrays in which one letter stands for sides of different size",
        "compare the letters of the equation with the shapes, in their order",
    ),
    (
        re.compile(r"shape of the mask .* does not match|boolean index did not match"),
        "A mask does not have the shape of the array that it chooses from",
        "make the mask from the same array that it is used on, after the last change of its length",
    ),
)
_LAYER = re.compile(
    r"to have \d+ channels|normalized_shape=|running_mean should contain|must be equal to input_size|[Ee]xpected \d.?D"
    r"|embedding dimension of"
    r"|Output size is too small|Kernel size can't be greater|Expected more than 1 value per channel|expected \d.*D input"
    r"|weight of size|Expected hidden(?:\[\d\])? size|Expected size of|shapes cannot be multiplied|number of channels"
)
_LOSS = re.compile(r"loss|entropy|kl_div")
# What a layer of PyTorch was made for, and which side of its input that is.
_FEATURES = {"Linear": "in_features", "LSTM": "input_size", "GRU": "input_size", "RNN": "input_size"}


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if failure.text.kind not in _KINDS or "Exception encountered when calling" in failure.error.message:
        return Clear("the error comes from elsewhere")
    if any(_LOSS.search(call["function"]) for call in (failure.inspected.calls if failure.inspected is not None else [])):
        return Clear("a loss refused what it was given")
    said = _explain(failure)
    if said is None:
        return Clear("the error is about something else")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=said.summary,
        evidence=describe_failure(failure, *said.claims),
        actions=said.actions,
        where=said.where or (failure.raised.where if failure.raised is not None else None),
        changes=said.changes,
    )


def _explain(failure: Failure) -> Explanation | None:
    message = failure.error.message
    if failure.layer is not None and (_LAYER.search(message) or _PRODUCT.search(message)):
        return _of_layer(failure, failure.layer)
    transformed = explain_transformation(failure)
    if transformed is not None:
        return transformed
    for pattern, explain in (
        (_PRODUCT, _of_product),
        (_JOINED, _of_joined),
        (_BROADCAST, _of_broadcast),
        (_RESHAPED, _of_reshape),
    ):
        if pattern.search(message):
            return explain(failure)
    of_arrays = next((words for pattern, *words in _OF_ARRAYS if pattern.search(message)), None)
    return _with_arrays(failure, *of_arrays) if of_arrays is not None else None


# --- layers of PyTorch ---


def _of_layer(failure: Failure, layer: Maker) -> Explanation:
    given = next((found for found in (failure.argument("forward", name) for name in ("input", "x", "query")) if found), None)
    shapes = parse_shapes(failure.text.message) if "mat1 and mat2" in failure.text.message else []
    shape = given.shape if given is not None else shapes[0] if shapes else None
    options, kind = layer.facts.get("options") or {}, str(layer.facts.get("class", ""))
    last = explain_last_batch(failure, _who(layer), shape)
    said = last or _features(failure, layer, shape, options, kind) or _channels(failure, layer, shape, options, kind)
    if said is not None:
        return said
    came = f" It was given the shape {format_shape(shape)}." if shape is not None else ""
    return Explanation(
        f"{_who(layer)} cannot take what it was given: {failure.text.message.rstrip('.')}.{came}",
        ("bring the input into the shape that the layer takes, or make the layer for this input",),
        claims=_size_hint(failure),
    )


def _features(failure: Failure, layer: Maker, shape: Shape | None, options: dict[str, object], kind: str) -> Explanation | None:
    option = _FEATURES.get(kind)
    wanted = options.get(option) if option is not None else None
    if not isinstance(wanted, int) or not shape or shape[-1] is None or shape[-1] == wanted:
        return None
    when = "if the input is as it should be"
    change = replace_argument(layer, kind, 0, str(shape[-1]), when) or replace_argument(
        layer, kind, option or "", str(shape[-1]), when
    )
    named = f" at {layer.where}" if layer.where else ""
    return Explanation(
        f"{_who(layer)} was made for {wanted:,} features, and its input has {shape[-1]:,}: the shape {format_shape(shape)}.",
        (f"make the layer{named} for {shape[-1]} features ({option}={shape[-1]}), or give it {wanted}",),
        claims=_size_hint(failure),
        where=layer.where,
        changes=(change,) if change is not None else (),
    )


def _channels(failure: Failure, layer: Maker, shape: Shape | None, options: dict[str, object], kind: str) -> Explanation | None:
    option = "in_channels" if "Conv" in kind else "num_features" if "BatchNorm" in kind or "InstanceNorm" in kind else ""
    wanted = options.get(option)
    sides = next((int(letter) for letter in kind if letter.isdigit()), 0)
    if not isinstance(wanted, int) or shape is None or not sides:
        return None
    if len(shape) not in (sides + 1, sides + 2):
        if option == "num_features":
            return None
        return Explanation(
            f"{_who(layer)} takes {sides + 2} sides (batch, channels and {sides} of space) or one less without the batch, and "
            f"was given the shape {format_shape(shape)}.",
            ("bring the input into that shape before the layer, for example by unsqueeze or reshape",),
        )
    is_batched = len(shape) == sides + 2 or "BatchNorm" in kind  # which always has a batch before the channels
    at = 1 if is_batched else 0
    if shape[at] == wanted:
        return None
    said = f"{_who(layer)} was made for {wanted} channels, and its input {format_shape(shape)} has {shape[at]} in side {at}."
    if shape[-1] == wanted:
        order = ", ".join(str(each) for each in (0, sides + 1, *range(1, sides + 1))) if at else ""
        fix = f" (x.permute({order}))" if order else ""
        return Explanation(
            f"{said} The last side is {wanted}: the channels seem to stand last, and PyTorch takes them before the rest.",
            (f"put the channels first{fix}", f"or make the layer for {shape[at]} channels, if the order is meant"),
        )
    change = replace_argument(layer, kind, 0, str(shape[at]), "if the input is as it should be")
    return Explanation(
        said,
        (f"make the layer for {shape[at]} channels ({option}={shape[at]}), or give it {wanted}",),
        where=layer.where,
        changes=(change,) if change is not None else (),
    )


def _size_hint(failure: Failure) -> tuple[str, ...]:
    """With which images the model was called: flattened features depend on their size."""
    for line in failure.own_lines[:-1]:
        images = [value for value in line.values if value.shape is not None and len(value.shape) == 4 and value.is_in_failing]
        if images:
            return (
                f"the model was called at {line.where} with {images[0].text}; flattened features are as many as its size gives",
            )
    return ()


# --- operations on two arrays ---


def _two(failure: Failure, *names: tuple[str, str]) -> tuple[Value, Value] | None:
    """The two arrays: what the library was given, by the user's names where the shapes agree; else as the message has them."""
    own = find_failing_arrays(failure)
    shapes = parse_shapes(failure.text.message) if _TELLS_BOTH.search(failure.text.message) else []
    said = {shape for shape in shapes if len(shape) > 1}
    if len(own) == 2 and are_operands(failure, own) and (len(said) < 2 or said == {value.shape for value in own}):
        return own[0], own[1]
    for function, one, other in ((each["function"], *pair) for each in _calls(failure) for pair in names):
        given = failure.argument(function, one), failure.argument(function, other)
        if given[0] is not None and given[1] is not None and given[0].shape is not None and given[1].shape is not None:
            return rename_by_own_name(given[0], own), rename_by_own_name(given[1], own)
    if len(shapes) == 2:
        first, second = (Value("", {"shape": list(shape), "dtype": ""}) for shape in shapes)
        return rename_by_own_name(first, own), rename_by_own_name(second, own)
    return None


def _calls(failure: Failure) -> list[dict[str, Any]]:
    rows = failure.inspected.calls[::-1] if failure.inspected is not None else []
    return [row for row in rows if "scatter" not in row["function"]]


def _named(value: Value, otherwise: str) -> str:
    return f"`{value.name}` {format_shape(value.shape)}" if value.name else f"{otherwise} {format_shape(value.shape)}"


def _of_product(failure: Failure) -> Explanation:
    pair = _two(failure, ("a", "b"), ("self", "other"), ("input", "weight"))
    if pair is None or not pair[0].shape or not pair[1].shape:
        return _unsure(failure, "Two arrays whose shapes do not go together were multiplied")
    first, second = pair
    columns, rows = pair[0].shape[-1], pair[1].shape[-2] if len(pair[1].shape) > 1 else pair[1].shape[0]
    who, whom = _named(first, "The first array"), _named(second, "the second")
    if columns == rows and (pair[0].shape[:-2] == pair[1].shape[:-2] or min(len(pair[0].shape), len(pair[1].shape)) < 3):
        return _unsure(failure, "Two arrays whose shapes do not go together were multiplied")
    if columns == rows:
        return Explanation(f"{who} and {whom} cannot be multiplied: their leading sides differ.", _both(first, second))
    is_turned = len(pair[1].shape) > 1 and pair[1].shape[-1] == columns
    turned = f"if the second is to be transposed: {second.name or 'b'}.swapaxes(-1, -2)" if is_turned else ""
    return Explanation(
        f"{who} and {whom} cannot be multiplied: the first has {columns} columns, and the second {rows} rows.",
        tuple(each for each in (turned, *_both(first, second)) if each),
    )


def _of_broadcast(failure: Failure) -> Explanation:
    if failure.raised is not None and re.search(r"@|matmul|bmm|einsum", failure.raised.code):
        return _of_product(failure)
    pair = _two(failure, ("x", "y"), ("x1", "x2"), ("self", "other"))
    if pair is None or pair[0].shape is None or pair[1].shape is None:
        return _unsure(failure, "The shapes of two arrays do not go together")
    first, second = pair
    one, other = pair[0].shape[::-1], pair[1].shape[::-1]
    sides = [(-at - 1, a, b) for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b and 1 not in (a, b)]
    sizes = re.search(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", failure.text.message)
    if not sides or (sizes is not None and {int(sizes[1]), int(sizes[2])} not in [{a, b} for _, a, b in sides]):
        return _unsure(failure, "The shapes of two arrays do not go together")
    differ = " and ".join(f"{a} against {b} in side {at}" for at, a, b in sides)
    return Explanation(
        f"{_named(first, 'The first array')} and {_named(second, 'the second')} do not go together: {differ}, "
        "counted from the last. Sides must be equal, or one of them 1.",
        (*_both(first, second), "or give one of them a side of 1 where the other has several"),
    )


def _of_joined(failure: Failure) -> Explanation:
    arrays = find_failing_arrays(failure)
    shapes = parse_shapes(failure.text.message)
    if len(arrays) == 2 and are_operands(failure, arrays):
        listed = " and ".join(_named(value, "one") for value in arrays)
    elif len(shapes) >= 2:
        listed = " and ".join(format_shape(shape) for shape in shapes[:4])
    else:
        return _unsure(failure, "Arrays of shapes that do not go together were joined")
    return Explanation(
        f"{listed} cannot be joined: apart from the side along which they are joined, all sides must be equal.",
        (
            "bring them to one size first: crop, pad or resize one of them",
            "where they are feature maps: an input whose size is a multiple of the total stride keeps them equal",
        ),
    )


def _of_reshape(failure: Failure) -> Explanation | None:
    arrays = [value for value in find_failing_arrays(failure) if value.shape is not None]
    if "not compatible" in failure.text.message:
        return None  # about the layout in memory, and not the shape
    shapes = parse_shapes(failure.text.message)
    target = shapes[-1] if shapes else None
    if len(arrays) != 1 or target is None or arrays[0].shape is None or None in arrays[0].shape:
        return _unsure(failure, "An array was given a shape that does not have as many elements")
    held = math.prod(side for side in arrays[0].shape if side is not None)
    if not re.search(rf"\b{held}\b", failure.text.message):
        return _unsure(failure, "An array was given a shape that does not have as many elements")
    known = math.prod(side for side in target if side is not None)
    rest = "no whole number fits the side that is left open" if None in target else f"{format_shape(target)} has {known:,}"
    sides = [side for side in arrays[0].shape[1:] if side is not None]
    rows, each = "", math.prod(sides)
    if target[0] is None and len(target) == 2 and len(sides) > 1:
        product = f"{' x '.join(map(str, sides))} = {each:,}"
        rows = f" Each of its {arrays[0].shape[0]:,} rows has {product} elements, and a row of the shape {known:,}."
    behind = f"; a layer behind it that was made for {known:,} features must then take {each:,}" if rows else ""
    return Explanation(
        f"{_named(arrays[0], 'The array')} has {held:,} elements and cannot take the shape "
        f"{format_shape(target).replace('None', '-1')}: {rest}.{rows}",
        (f"write the sides from the array itself, as x.reshape(x.shape[0], -1), or correct the numbers in this line{behind}",),
        claims=_size_hint(failure) if rows else (),
    )


def _with_arrays(failure: Failure, said: str, action: str) -> Explanation:
    arrays = find_failing_arrays(failure)
    listed = f" {' and '.join(_named(value, 'one') for value in arrays)} were given." if len(arrays) >= 2 else ""
    return Explanation(f"{said}: {failure.text.message.rstrip('.')}.{listed}", (action,))


# --- words ---


def _both(first: Value, second: Value) -> tuple[str, ...]:
    one = f"`{first.name}`" if first.name else "the first"
    other = f"`{second.name}`" if second.name else "the second"
    return (f"correct {one} or {other}: the shapes do not say which of them is wrong",)


def _unsure(failure: Failure, what: str) -> Explanation:
    return Explanation(
        f"{what}: {failure.text.message.rstrip('.')}.",
        ("compare the shapes in this line, and correct the line that makes the wrong one",),
    )


def _who(layer: Maker) -> str:
    kind = layer.facts.get("class", "")
    return f"The layer {layer.name} ({kind})" if layer.name else f"A layer {kind}"
