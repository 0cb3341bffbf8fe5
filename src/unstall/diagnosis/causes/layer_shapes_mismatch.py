"""Two layers of a model do not fit together: what one gives has not the size that the next one needs.

What it is
----------
Branches that are added must have one shape, and branches that are concatenated must agree in every side but one. A reshape
cannot change how many numbers there are. A convolution or pooling without padding needs an input at least as large as its
window. The error comes while the model is built or called, before anything is learned.

How we know
-----------
Keras and TensorFlow refuse such inputs and say their shapes. Unstall shows them with the names in the user's line, the line
that made each, and, where sides differ as they do after a stride and an upsampling, the size of the model's input and the
multiple that it would have to be.

When this is wrong
------------------
If the shapes are right and the layer is not the one that was meant: the sizes alone do not say which of the two is to change.

What to do
----------
Feature pyramids and U-Nets: use an input size that is a multiple of the total stride, or resize one branch to the other before
the merge. Reshape: compute the target from the number of filters. A window that is larger than its input: use padding="same",
fewer layers that halve, or larger images.
"""

from __future__ import annotations

import math
import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Shape, Value, as_shape, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.line_changes import replace_argument
from unstall.diagnosis.verdict import Clear, Found, LineChange, Verdict
from unstall.journal.reader import Journal

_MERGED = re.compile(
    r"Inputs have incompatible shapes\. Received shapes|Operands could not be broadcast together with shapes", re.IGNORECASE
)
_CONCATENATED = re.compile(
    r"`?Concatenate`? layer requires inputs with matching shapes|ConcatOp : (?:Dimension|Ranks)"
    r"|Dimension \d+ in both shapes must be equal, but are \d+ and \d+\. Shapes are[^\n]*(?=ConcatV2)"
    r"|Dimension \d+ in both shapes must be equal: shape\[0\] = "
)
_RESHAPED = re.compile(
    r"total size of (?:the tensor|new array) must be unchanged[.,] (?:Received: )?input_shape ?= ?(?P<given>[\[(][^\])]*[\])]), "
    r"(?:target_shape|output_shape) ?= ?(?P<target>[\[(][^\])]*[\])])"
)
_NEGATIVE = re.compile(
    r"Computed output size would be negative|[Nn]egative dimension size caused by subtracting (?P<window>\d+) from (?P<side>\d+)"
)
_MERGES = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "add", "multiply", "concatenate")
_BY_KERAS = ("keras", "tensorflow")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if not _of_keras(failure):
        return Clear("the error is about something else")
    message = failure.error.message
    reshaped = _RESHAPED.search(message)
    if reshaped is not None:
        return _of_reshape(failure, parse_shapes(reshaped["given"]), parse_shapes(reshaped["target"]))
    negative = _NEGATIVE.search(message)
    if negative is not None:
        return _of_window(failure, negative)
    merged = _MERGED.search(message) if _in_merge(failure) else None
    concatenated = _CONCATENATED.search(message)
    match = merged or concatenated
    if match is None:
        return Clear("the error is about something else")
    shapes = parse_shapes(message[match.start() :].split("\n")[0])
    return _of_merge(failure, shapes, "concatenated" if concatenated is not None else "combined element by element")


def _of_keras(failure: Failure) -> bool:
    """NumPy says the same of arrays: the error must have come out of Keras or TensorFlow."""
    files = [frame["file"] for frame in failure.error.frames[:6]]
    quoted = "in user code:" in failure.error.message or failure.error.kind.startswith("tensorflow.")
    return quoted or "{{node " in failure.error.message or any(f"/{name}/" in file for file in files for name in _BY_KERAS)


def _in_merge(failure: Failure) -> bool:
    """Whether it was a layer that merges its inputs: the words are used of other operations, too."""
    frames = " ".join(frame["file"] for frame in failure.error.frames)
    return (
        "merg" in frames
        or "merg" in failure.error.message
        or (failure.layer is not None and failure.layer.facts.get("class") in _MERGES)
    )


# --- branches that are added or concatenated ---


def _of_merge(failure: Failure, shapes: list[Shape], how: str) -> Found | Clear:
    pair = next(((first, other) for first in shapes for other in shapes if _differ(first, other, how)), None)
    if pair is None:
        return Clear("the shapes of the error are not known")
    said = f"One has the shape {format_shape(pair[0])}, another {format_shape(pair[1])}."
    rounding, claims = _rounding(failure, *pair)
    channels = _channels(failure, *pair)
    first = "resize one of the two to the size of the other before they are put together, or change what makes them"
    actions = (rounding, f"or {first}") if rounding else (f"{first}: the sizes alone do not say which of the two is wrong",)
    if channels:
        said += " They differ in the last side alone, that of the channels."
        actions = (channels, "or make both with the same number of channels")
    return create_found(failure, f"Tensors that are {how} do not fit together. {said}{claims}", actions, _makers(failure))


def _channels(failure: Failure, first: Shape, other: Shape) -> str:
    """Of images or sequences that differ in their last side alone: a convolution with a window of one cell changes that."""
    last = [side for side in (first[-1], other[-1]) if side is not None]
    if first[:-1] != other[:-1] or len(first) < 3 or len(last) != 2 or 1 in last:
        return ""
    raised, least = failure.raised, min(last)
    values = [value for value in raised.values if value.shape and value.shape[-1] == least] if raised is not None else []
    name = f"`{values[0].name}`" if len(values) == 1 else "the one with fewer"
    return f"give {name} {max(last):,} channels, too: a convolution with {max(last):,} filters and a window of 1 keeps its size"


def _differ(first: Shape, other: Shape, how: str) -> bool:
    if len(first) != len(other):
        return True
    sides = [(a, b) for a, b in zip(first, other, strict=True) if a is not None and b is not None and a != b]
    return len(sides) > 1 or any(1 not in pair for pair in sides) if how == "combined element by element" else bool(sides)


def _rounding(failure: Failure, first: Shape, other: Shape) -> tuple[str, str]:
    """What to do and a sentence, where a side is odd and the other is what a stride and an upsampling by 2 make of it."""
    pairs = [(a, b) for a, b in zip(first, other, strict=False) if a is not None and b is not None and a != b]
    odd = next((min(pair) if min(pair) % 2 else max(pair) for pair in pairs if abs(pair[0] - pair[1]) == 1), None)
    if odd is None or len(first) != len(other) or any(abs(a - b) != 1 for a, b in pairs):
        return "", ""
    even = next(side for pair in pairs for side in pair if side != odd)
    halved = _halved(failure, odd, even)
    if halved is not None:
        return halved
    said = f" {even} is what a stride of 2 and then an upsampling by 2 make of a side of {odd}, which is odd."
    whole = _input_side(failure, odd)
    if whole is None:
        return "use an input size that stays even at every stride of 2", said
    multiple = whole // odd * 2
    fits = f"{whole // multiple * multiple} or {(whole // multiple + 1) * multiple}"
    said += f" The model's input has the side {whole}, {whole // odd} times as much; it is not a multiple of {multiple}."
    return f"use an input size that is a multiple of {multiple}, as {fits} are; more if there are coarser levels", said


def _halved(failure: Failure, odd: int, even: int) -> tuple[str, str] | None:
    """The same, where the probe has seen which sides the strides make of the model's input."""
    seen = failure.maker("sizes")
    rows = seen.facts["sides"] if seen is not None else []
    stride = seen.facts["stride"] if seen is not None else 1
    axis = next((at for at in (0, 1) if any(row[at] == odd for row in rows)), None)
    if seen is None or axis is None or stride < 2 or any(abs(rows[-1][at] * stride - rows[0][at]) >= stride for at in (0, 1)):
        return None
    whole = rows[0][axis]
    bad = [side for side in dict.fromkeys(rows[0]) if side % stride]
    if whole not in bad:
        return None
    made = dict.fromkeys(row[axis] for row in rows[1:])
    is_square = rows[0][0] == rows[0][1]
    size = f"the side {whole}" if is_square else f"the size {rows[0][0]} x {rows[0][1]}"
    at = f", made at {seen.where}," if seen.where else ""
    said = (
        f" The model's input{at} has {size}. Of {whole}, strides make {_listed([str(side) for side in made])}; an upsampling "
        f"by 2 makes {even}, and the other branch has {odd}. {whole} is no multiple of {stride}, the product of the strides."
    )
    fits = " and ".join(_fitting(side, stride) for side in bad)
    return f"use an input size that is a multiple of {stride}: {fits}", said


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _fitting(side: int, multiple: int) -> str:
    below = side // multiple * multiple
    more = f"{below + multiple} instead of {side}"
    return f"{below} or {more}" if below else more


def _input_side(failure: Failure, side: int) -> int | None:
    """The side of an image tensor further out in the program's own lines, of which this side is a power of 2 smaller."""
    for line in failure.own_lines:
        for value in (*line.values, *line.arguments):
            shape = value.shape
            for whole in shape[1:3] if shape is not None and len(shape) == 4 else ():
                is_power = whole is not None and whole > side and whole % side == 0 and math.log2(whole // side).is_integer()
                if whole is not None and is_power and "KerasTensor" in str(value.facts.get("type")):
                    return whole
    return None


def _makers(failure: Failure) -> tuple[str, ...]:
    """Where the tensors in the user's line were made."""
    raised = failure.raised
    if raised is None:
        return ()
    values: list[Value] = [value for value in raised.values if value.is_array and value.is_in_failing]
    makers = [(value, raised.find_maker(value)) for value in values]
    rows = {
        maker.where: f"`{value.name}` was made at {maker.where}: {maker.code}" for value, maker in makers if maker is not None
    }
    return tuple(rows.values())[:3]


# --- reshape ---


def _of_reshape(failure: Failure, given: list[Shape], target: list[Shape]) -> Found | Clear:
    if not given or not target:
        return Clear("the shapes of the error are not known")
    sides, wanted = [side for side in given[0] if side is not None], [side for side in target[0] if side is not None]
    numbers, needed = math.prod(sides), math.prod(wanted)
    said = (
        f"The layer is given {format_shape(given[0])}, which is {numbers:,} numbers for each example, and shall make"
        f" {format_shape(target[0])} of it"
    )
    is_whole = None in target[0] or -1 in target[0]
    said += f", which does not divide that: {needed:,}." if is_whole else f", which is {needed:,}."
    area = math.prod(sides[:-1])
    channels = needed // area if len(sides) == 3 and not is_whole and area and needed % area == 0 else None
    if channels:
        said += f" With {sides[0]} x {sides[1]} cells it would take {channels} channels, and there are {sides[-1]}."
    is_flat = len(sides) == 1 and not is_whole
    change = _resize_dense(failure, needed) if is_flat else None
    first = f"give the layer that makes the input {channels} filters" if channels else ""
    if is_flat and change is None:
        product = f", {' x '.join(map(str, wanted))}" if len(wanted) > 1 else ""
        first = f"if the target is right, let the layer before it give {needed:,} numbers{product}"
    last = "change the target of the reshape: which of the two is wrong, the sizes do not say"
    return create_found(
        failure,
        f"A reshape cannot change how many numbers there are. {said}",
        (*((first,) if first else ()), f"or {last}" if first or change is not None else last),
        _makers(failure),
        changes=(change,),
    )


def _resize_dense(failure: Failure, units: int) -> LineChange | None:
    """The dense layer that makes the input, in the line that gave it its value, with as many units as the target has numbers."""
    raised = failure.raised
    values = [value for value in raised.values if value.is_array and value.is_in_failing] if raised is not None else []
    maker = raised.find_maker(values[0]) if raised is not None and len(values) == 1 else None
    return replace_argument(maker, "Dense", 0, str(units), "if the target of the reshape is right") if maker is not None else None


def _lacks_batch(failure: Failure) -> tuple[Value, Shape] | None:
    """What the user's line gives a model, where it has all sides that the model takes but the first."""
    values = failure.raised.values if failure.raised is not None else ()
    models = [as_shape(value.facts["takes"]) for value in values if value.facts.get("takes")]
    for takes in models if len(models) == 1 else []:
        sides = takes[1:] if takes is not None else ()
        for value in values:
            fits = value.shape is not None and len(value.shape) == len(sides)
            if (
                fits
                and takes is not None
                and all(side in (None, has) for side, has in zip(sides, value.shape or (), strict=True))
            ):
                return value, takes
    return None


# --- a window larger than its input ---


def _of_window(failure: Failure, match: re.Match[str]) -> Found:
    layer = failure.layer
    text = failure.error.message[match.start() :]
    inputs = re.search(r"(?:input shapes:|Received:)(?P<shapes>[^\n]*)", text)  # not the list of options before it
    shapes = parse_shapes(inputs["shapes"]) if inputs is not None else []
    given = f" Its input has the shape {format_shape(shapes[0])}" if shapes else ""
    kernel = f", its kernel {format_shape(shapes[1])}." if len(shapes) > 1 else "." if given else ""
    sides = f" The window has {match['window']} cells along a side that has only {match['side']}." if match["window"] else ""
    where = layer.where if layer is not None and str(layer.facts.get("class", "?")) in failure.error.message else None
    claims = (f"{layer.words} was made at {layer.where}: {layer.code}",) if layer is not None and layer.where else ()
    lacking = _lacks_batch(failure)
    if lacking is not None:
        value, takes = lacking
        return create_found(
            failure,
            f"`{value.name}` has the shape {format_shape(value.shape)}, and the model takes {format_shape(takes)}: the "
            "batch dimension is missing. The first dimension of the example was taken for it.",
            (f"add the batch dimension: {value.name}[None, ...]",),
            _makers(failure),
        )
    return create_found(
        failure,
        f"The window of a layer is larger than what it is given, so its output would have a negative size.{given}{kernel}{sides}",
        (
            'use padding="same" in this layer and in those before it',
            "or leave out a layer that halves the size",
            "or use larger images",
        ),
        (*claims, *_makers(failure)),
        where,
    )
