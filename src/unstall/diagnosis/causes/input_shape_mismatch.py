"""A layer is given an input whose shape it cannot take: the batch does not fit the model.

What it is
----------
A layer is made for inputs of one rank and, on some of its sides, of one size: a convolution for so many channels, a dense layer
for so many features. Gray images have one channel where three are expected; a table has another number of columns; a single
image, or a data set that is not batched, lacks the first side. Where a layer does not fit the one before it, see
`matrix_shapes_mismatch` (PyTorch, JAX) and `layer_shapes_mismatch` (TensorFlow).

How we know
-----------
Keras says what a layer expects and what came, and names the layer. Of PyTorch, Unstall reads the layer in whose call the error
arose, what it was made with, and the shape of what it was given, where that is the shape of what the program gave the model. The
line that made the layer is known.

When this is wrong
------------------
If the shape is right and the layer is one of your own whose message reads like that of Keras.

What to do
----------
Where the batch is wrong, correct the data: add the missing side, or convert the images. Where the layer is wrong, make it for
what it is given. A global pooling layer instead of `Flatten` makes a model independent of the size of its images.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstall.diagnosis.errors.evidence import describe_line
from unstall.diagnosis.errors.failures import Failure, Maker, Shape, UserLine, Value, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.line_changes import replace_argument
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, LineChange, Verdict
from unstall.journal.reader import Journal

EXPLAINS = ("matrix_shapes_mismatch",)

_KERAS = re.compile(
    r"Inputs? \d+ ?(?:with name .*? )?(?:of|to) layer ['\"]?(?P<layer>[\w./-]+)['\"]? is incompatible with the layer: ?"
    r"(?P<expected>.*)"
)
_KERAS_MODEL = re.compile(
    r"Invalid input shape for input .*?[Ee]xpected shape (?P<expected>\(.*?\)), but input has incompatible shape"
)
_AXIS = re.compile(r"expected axis (?P<axis>-?\d+) of input shape to have value (?P<size>\d+)")
_RANK = re.compile(r"expected (?P<min>min_|max_)?ndim=(?P<wanted>\d+), found ndim=(?P<found>\d+)")
_SHAPE_WORDS = re.compile(
    r"shapes? cannot be multiplied|to have \d+ channels?, but got|[Ee]xpected \dD.*input|size mismatch, m1"
    r"|must match the size of tensor|normalized_shape|input\.size\(-1\) must be equal|running_mean should contain"
)
_BATCHES = re.compile(r"batch|bucket|window|rebatch", re.IGNORECASE)  # stages of tf.data after which elements are batches
_UNKNOWN = re.compile(
    r"unknown TensorShape|unknown (?:rank|shape)|rank (?:is )?unknown|shape of the input .* is unknown", re.IGNORECASE
)
_ARGUMENTS = ("input", "x", "inputs")
# By the kind of a layer of PyTorch: what it was made with for a side of its input, and that side.
_SIDES = {
    "Linear": ("in_features", -1),
    "LazyLinear": ("in_features", -1),
    "Conv1d": ("in_channels", -2),
    "Conv2d": ("in_channels", -3),
    "Conv3d": ("in_channels", -4),
    "ConvTranspose2d": ("in_channels", -3),
    "BatchNorm1d": ("num_features", 1),
    "BatchNorm2d": ("num_features", 1),
    "BatchNorm3d": ("num_features", 1),
    "LSTM": ("input_size", -1),
    "GRU": ("input_size", -1),
    "RNN": ("input_size", -1),
}
# By the kind of a layer of Keras: what the sides of its input stand for.
_STEPS, _PIXELS = "(batch, steps, features)", "(batch, height, width, channels)"
_INPUTS = {
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "Bidirectional", "Conv1D", "MaxPooling1D", "GlobalAveragePooling1D"), _STEPS),
    **dict.fromkeys(("Conv2D", "SeparableConv2D", "DepthwiseConv2D", "Conv2DTranspose", "MaxPooling2D"), _PIXELS),
    **dict.fromkeys(("AveragePooling2D", "GlobalAveragePooling2D", "GlobalMaxPooling2D", "UpSampling2D"), _PIXELS),
}


@dataclass(frozen=True)
class _Mismatch:
    layer: Maker | None
    name: str
    expected: str  # what the layer takes, in words
    came: Shape | None
    lacks_side: bool = False  # it has one side less than the layer takes
    lacks_batch: bool = False  # and that is the first, of the batch
    option: str = ""  # with which the layer was made for the side that differs, and what came there
    size: int | None = None


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    unknown = _of_unknown_shape(failure)
    if unknown is not None:
        return unknown
    found = _of_keras(failure) or _of_torch(failure)
    return Clear("the error is about something else") if found is None else _found(failure, found)


def _of_unknown_shape(failure: Failure) -> Found | None:
    """A data set whose elements have no known shape, as what Python code returns has none."""
    if _UNKNOWN.search(failure.text.message) is None:
        return None
    for line in reversed(failure.own_lines):
        for value in line.values:
            parts = [str(row["name"]) for row in value.facts.get("components") or [] if row.get("shape") is None]
            if parts:
                return _found_unknown(failure, line, value, parts)
    return None


def _found_unknown(failure: Failure, line: UserLine, value: Value, parts: list[str]) -> Found:
    makers = [stage for stage in failure.written_stages if "python" in (stage.facts.get("does") or [])]
    stage = makers[-1] if makers else None
    names = [f"part {int(name) + 1}" if name.isdigit() else f"`{name}`" for name in parts]
    said = f"The elements of `{value.name}` have no known shape ({', '.join(names)}), and the model needs one to be built."
    claims = [describe_line(line)]
    fix = "give each tensor its shape in the function that makes it: tensor = tf.ensure_shape(tensor, (height, width, channels))"
    if stage is not None:
        function = (stage.facts.get("arguments") or {}).get("function", "")
        of = f", in `{function.rpartition('.')[2]}`," if function and "<" not in function else ""
        said += f" The {stage.what} at {stage.where} calls Python code{of} as tf.py_function and tf.numpy_function do: TensorFlow"
        said += " does not know the shapes of what that returns."
        claims.append(f"{stage.what} at {stage.where}: {stage.code}")
        fix = "give each tensor its shape after tf.py_function or tf.numpy_function: image.set_shape((height, width, channels))"
    claims.append(f"the error that ended it: {failure.text.line}")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=said,
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=(fix, "and label.set_shape(()) for a single number"),
        where=stage.where if stage is not None else line.where,
    )


def _of_keras(failure: Failure) -> _Mismatch | None:
    message = failure.text.message
    match = _KERAS.search(message) or _KERAS_MODEL.search(message)
    if match is None:
        return None
    name = match.groupdict().get("layer") or "the model"
    layer = next((maker for maker in failure.makers if maker.what == "layer" and maker.name == name), None)
    shapes = parse_shapes(message)
    came = shapes[-1] if shapes else None
    axis, rank = _AXIS.search(message), _RANK.search(message)
    if axis is not None:
        return _Mismatch(layer, name, f"{axis['size']} at side {axis['axis']} of its input", came)
    if rank is not None:
        bound = {"min_": "at least ", "max_": "at most "}.get(rank["min"] or "", "")
        lacks = int(rank["found"]) == int(rank["wanted"]) - 1 and rank["min"] != "max_"
        sides = "side" if rank["wanted"] == "1" else "sides"
        return _Mismatch(layer, name, f"{bound}{rank['wanted']} {sides}", came, lacks, lacks and _is_one_image(came))
    if len(shapes) < 2:
        return _Mismatch(layer, name, match["expected"].rstrip("."), came)
    wanted = shapes[-2]
    lacks = came is not None and len(came) == len(wanted) - 1
    is_one = came is not None and None not in came and _agree(wanted[1:], came)
    return _Mismatch(layer, name, f"inputs of shape {format_shape(wanted)}", came, lacks, is_one)


def _is_one_image(shape: Shape | None) -> bool:
    """By its three sides, of which the last are channels: many gray images of that number would be an odd case."""
    return shape is not None and len(shape) == 3 and None not in shape and shape[-1] in (1, 3, 4)


def _agree(wanted: Shape, came: Shape) -> bool:
    return len(wanted) == len(came) and all(a is None or b is None or a == b for a, b in zip(wanted, came, strict=True))


def _of_torch(failure: Failure) -> _Mismatch | None:
    """By what the layer was made with and what it was given; the words of the message only say that it is about shapes."""
    layer = failure.layer
    kind = str(layer.facts.get("class", "")) if layer is not None else ""
    given = next((value for name in _ARGUMENTS if (value := failure.argument("forward", name)) is not None), None)
    if (
        layer is None
        or kind not in _SIDES
        or given is None
        or given.shape is None
        or not _SHAPE_WORDS.search(failure.text.message)
    ):
        return None
    option, side = _SIDES[kind]
    wanted, shape = (layer.facts.get("options") or {}).get(option), given.shape
    size = shape[side] if -len(shape) <= side < len(shape) else None
    lacks = kind.startswith("Conv") and len(shape) < -side
    if not isinstance(wanted, int) or (size == wanted and not lacks) or not _is_given_to_the_model(failure, shape):
        return None
    noun = {"in_features": "features", "input_size": "features"}.get(option, "channels")
    expected = f"{wanted} {noun} at side {side} of its input"
    return _Mismatch(layer, layer.name, expected, shape, lacks, lacks, option, size)


def _is_given_to_the_model(failure: Failure, shape: Shape) -> bool:
    """Whether it is what the program gave the whole model, and not what another layer made of that."""
    arrays = ([value for value in line.values if value.is_array] for line in failure.own_lines)
    return any(value.shape == shape for value in next(filter(None, arrays), []))  # of the outermost line that has any


def _found(failure: Failure, found: _Mismatch) -> Found:
    raised = failure.raised
    name = (
        found.layer.words if found.layer is not None else f"the layer {found.name}" if found.name != "the model" else found.name
    )
    came = f", and was given {format_shape(found.came)}" if found.came is not None else ""
    source = _source(failure, found)
    said = f"{name[0].upper()}{name[1:]} expects {found.expected}{came}{f', {source}' if source else ''}."
    has_batches = any(_BATCHES.search(str(stage.facts["name"])) for stage in failure.stages)
    # Keras makes a data set of arrays, too, whose stages have no line of the user's.
    unbatched = found.lacks_side and bool(failure.written_stages) and not has_batches and not _has_open_batch(found)
    if unbatched:
        said += " The data set is not batched."
    elif found.lacks_batch:
        said += " The first side, that of the batch, is missing."
    elif found.lacks_side:
        kind = str(found.layer.facts.get("class", "")) if found.layer is not None else ""
        said += f" A side is missing{'' if _has_open_batch(found) else ': that of the batch, or another one'}."
        said += f" {kind} takes {_INPUTS[kind]}." if kind in _INPUTS else ""
    order = _order_of_sides(found)
    if order:
        last = found.came[-1] if found.came else ""
        said += f" The last side is {last}: the channels seem to stand last, and PyTorch takes them before height and width."
    changes = _changes(failure, found)
    claims = [describe_line(line) for line in (raised,) if line is not None and line.code]
    if found.layer is not None and found.layer.where:
        claims.append(f"{found.layer.words} was made at {found.layer.where}: {found.layer.code}")
    values = [value for line in failure.own_lines for value in line.values if value.is_array and value.shape == found.came]
    claims += [f"`{values[-1].name}` is a {values[-1].words}"] if values else []
    claims.append(f"the error that ended it: {failure.text.line}")
    is_layers = found.layer is not None and found.layer.where and not found.lacks_batch
    return Found(
        certainty=Certainty.CERTAIN,
        summary=said,
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=_turned(order) if order else _actions(found, unbatched, bool(changes)),
        where=found.layer.where if is_layers and found.layer is not None else raised.where if raised is not None else None,
        changes=changes,
    )


def _batch(failure: Failure, found: _Mismatch) -> Value | None:
    """What the program itself has at hand outside the model, and of that shape."""
    outside = [line for line in failure.own_lines if line.function not in ("forward", "call", "__call__")]
    return next((value for line in outside for value in line.values if value.is_array and value.shape == found.came), None)


def _order_of_sides(found: _Mismatch) -> str:
    """By which images whose channels stand last come into the order of PyTorch: 0, 3, 1, 2."""
    layer, shape = found.layer, found.came
    wanted = (layer.facts.get("options") or {}).get(found.option) if layer is not None else None
    if found.option != "in_channels" or shape is None or found.lacks_side or len(shape) not in (4, 5) or shape[-1] != wanted:
        return ""
    return ", ".join(map(str, (0, len(shape) - 1, *range(1, len(shape) - 1))))


def _turned(order: str) -> tuple[str, ...]:
    one = ", ".join(str(int(each) - 1) for each in order.split(", ")[1:])
    return (
        f"put the channels first: x.permute({order}) of a batch, x.permute({one}) of one image, where the data set makes it",
        "torchvision.transforms.ToTensor does so for images of Pillow and NumPy",
    )


def _has_open_batch(found: _Mismatch) -> bool:
    """Whether it has a first side of no fixed size, as only batches have."""
    return bool(found.came) and found.came is not None and found.came[0] is None


def _source(failure: Failure, found: _Mismatch) -> str:
    if found.came is None or found.lacks_batch or not found.option:
        return ""
    batch = _batch(failure, found)
    return f"which is the shape of `{batch.name}`" if batch is not None else ""


def _changes(failure: Failure, found: _Mismatch) -> tuple[LineChange, ...]:
    """The layer made for what the model gives it; where that has the shape of the batch, either of the two may be wrong."""
    if found.layer is None or not found.option or found.size is None or found.lacks_batch or _batch(failure, found) is not None:
        return ()
    kind = str(found.layer.facts.get("class", ""))
    when = "if what it is given is right"
    by_name = replace_argument(found.layer, kind, found.option, str(found.size), when)
    change = by_name or replace_argument(found.layer, kind, 0, str(found.size), when)
    return (change,) if change is not None else ()


def _actions(found: _Mismatch, unbatched: bool, is_changed: bool) -> tuple[str, ...]:
    if unbatched:
        return ("batch the data set before it is given to the model: dataset = dataset.batch(batch_size)",)
    if found.lacks_batch:
        return ("give the model a batch: of a single example, example[None] has that side",)
    if found.lacks_side:
        kind = str(found.layer.facts.get("class", "")) if found.layer is not None else ""
        last = (
            "that of the features, where each step has one number"
            if _INPUTS.get(kind) == _STEPS
            else "that of the channels of gray images"
        )
        other = f"add the side that is missing, as {last}: x[..., None]"
        return (other,) if _has_open_batch(found) else (f"{other}; or, of a single example, that of the batch: x[None]",)
    if is_changed:
        return ("or correct the layers before it, or the size of the images, so that this number comes out",)
    return (
        "correct the data, so that the layer is given what it expects",
        f"or make {found.name or 'the layer'} for what it is given",
    )
