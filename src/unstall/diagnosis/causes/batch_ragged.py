"""The elements that are to be put into one batch do not have the same shape.

What it is
----------
A batch is one array, so all its elements must have one shape. Images of different sizes have not, nor have boxes and labels:
there are as many as there are objects in an image. The error comes from the line that fetches a batch; the line that must change
is the one that puts it together, or the one that makes the elements.

How we know
-----------
`tf.data`, PyTorch's `default_collate`, and the `stack` of NumPy, JAX, TensorFlow, PyTorch and Keras refuse such elements, and
say two of the shapes. Unstall reads which part of the element it is from the structure of the data set, or from the elements
themselves where they are still in the frames of the error, and which line made the batch stage or the loader.

When this is wrong
------------------
If one element of all is broken and the others agree: then that element is to be corrected or left out, and not the batch.

What to do
----------
Images: resize or crop them to one size. Boxes and labels: pad them to the longest of the batch and let the loss leave the padding
out, or keep them ragged or as a list if the model takes that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstall.diagnosis.errors.evidence import describe_elements, describe_insides, name_components
from unstall.diagnosis.errors.failures import (
    Failure,
    Maker,
    Shape,
    Value,
    as_shape,
    find_failure,
    format_shape,
    parse_shapes,
)
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.line_changes import add_argument, find_call, rename_call
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, LineChange, Verdict
from unstall.journal.reader import Journal

_TF_DATA = re.compile(
    r"Cannot (?:add tensor to the batch|batch tensors with different shapes)(?: in component (?P<component>\d+))?"
)
_COLLATE = re.compile(
    r"stack expects each tensor to be equal size|each element in list of batch should be of equal size"
    r"|[Tt]rying to resize storage that is not resizable"
)
_STACK = re.compile(
    r"all input arrays must have the same shape|[Ss]hapes of all inputs must match|array has an inhomogeneous shape"
    r"|could not broadcast input array from shape|stack expects each tensor to be equal size",
    re.IGNORECASE,
)
_INHOMOGENEOUS = re.compile(r"inhomogeneous shape")
MAX_SHAPES = 4  # that are told
IMAGE_CHANNELS = (1, 3, 4)
_CHANNELS = {1: "grey", 3: "RGB", 4: "RGBA, which is RGB with transparency"}
_CONVERT = 'bring every image to the same channels where it is read: Image.open(path).convert("RGB")'
_ANY_NUMBER = "padding each part to the longest of its batch, if the model and the loss take any number of rows"
_ONLY_ONE_BATCH = frozenset({"batch_size", "drop_remainder", "name"})  # arguments that batch and padded_batch share


@dataclass(frozen=True)
class _Part:
    """The part of the elements that has no common shape."""

    name: str  # as the user calls it; empty where it cannot be told
    first: Shape | None
    other: Shape | None
    other_at: int | None = None  # which element of the batch has the other shape
    number: int | None = None  # which part of an element, counted from 1
    others: int = 0  # how many elements have the first shape, where all were seen

    @property
    def is_image(self) -> bool:
        """By three sides, the first or the last of them the channels."""
        shapes = (self.first, self.other)
        return any(
            all(shape is not None and len(shape) == 3 and shape[at] in IMAGE_CHANNELS for shape in shapes) for at in (0, -1)
        )

    @property
    def is_of_channels(self) -> bool:
        """Whether two images differ in nothing but the number of their channels."""
        if not self.is_image or self.first is None or self.other is None:
            return False
        sides = [at for at, pair in enumerate(zip(self.first, self.other, strict=True)) if pair[0] != pair[1]]
        return sides in ([0], [2]) and all(shape[sides[0]] in IMAGE_CHANNELS for shape in (self.first, self.other))

    @property
    def has_one_rank(self) -> bool:
        return self.first is not None and self.other is not None and len(self.first) == len(self.other)

    @property
    def differs_in_rows(self) -> bool:
        return self.has_one_rank and self.first is not None and self.other is not None and self.first[1:] == self.other[1:]

    @property
    def subject(self) -> str:
        """`boxes`, part 2 of an element,"""
        if self.number is None:
            return f"`{self.name}`" if self.name else "One part of them"
        return f"`{self.name}`, part {self.number} of an element," if self.name else f"Part {self.number} of an element"

    @property
    def words(self) -> str:
        if self.first is None or self.other is None:
            return ""
        first, other = format_shape(self.first), format_shape(self.other)
        if self.others:
            at = f"element {self.other_at} of the batch"
            said = f" {self.subject} has the shape {other} in {at}, and {first} in {self.others} more."
        else:
            who = f"element {self.other_at} has" if self.other_at is not None else "another has"
            said = f" {self.subject} has the shape {first} in the first element of the batch, and {who} {other}."
        return said

    @property
    def hint(self) -> str:
        """What the two shapes have in common, and what not."""
        if self.is_of_channels:
            return self._channels
        return " The number of rows differs between the elements." if self.differs_in_rows and not self.is_image else ""

    @property
    def _channels(self) -> str:
        first, other = self.first or (), self.other or ()
        counts = sorted(pair for sides in zip(first, other, strict=True) if sides[0] != sides[1] for pair in sides if pair)
        kinds = [
            f"{count} channel{'s' if count > 1 else ''} {'are' if count > 1 else 'is'} {_CHANNELS[count]}" for count in counts
        ]
        return f" In an image, {' and '.join(kinds)}."


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    in_pipeline = _TF_DATA.search(message)
    if in_pipeline is not None:
        return _of_tf_data(failure, int(in_pipeline["component"]) if in_pipeline["component"] else None)
    is_collated = "collate" in message or failure.argument("default_collate", "batch") is not None
    if _COLLATE.search(message) and (is_collated or failure.loader is not None):
        return _of_loader(failure)
    if _STACK.search(message):
        return _of_stack(failure)
    return Clear("the error is about something else")


# --- tf.data ---


def _of_tf_data(failure: Failure, component: int | None) -> Found:
    stage = failure.stage("batch")
    shapes = parse_shapes(failure.text.message)
    first, other = (shapes[-1], shapes[0]) if "[batch]" in failure.text.message else (shapes[0], shapes[-1])
    part = _find_component(failure, stage, component, first, other)
    before = [each for each in failure.written_stages if each.what in ("map", "from_generator", "flat_map", "interleave")]
    claims = []
    if stage is not None:
        fetched = failure.own_lines[-1].where if failure.own_lines else ""
        claims.append(
            f"raised by {_call(stage, '.batch')} at {stage.where}" + (f", for the batch fetched at {fetched}" if fetched else "")
        )
    if before:
        function = (before[-1].facts.get("arguments") or {}).get("function")
        claims.append(f"the elements come from {before[-1].what}{f'({function})' if function else ''} at {before[-1].where}")
    claims.append(f"the error that ended it: {failure.text.line}")
    changes = _padded(stage, part) if stage is not None else ()
    said = f"{part.words}{part.hint}"
    fixed = _fixed_shapes(_components_before(failure, stage), part)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The elements of the data set do not have the same shape, so they cannot be put into one batch.{said}",
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=_tf_actions(part, bool(changes), fixed),
        where=(stage.where if stage is not None else None) or (failure.raised.where if failure.raised is not None else None),
        changes=changes,
    )


def _find_component(failure: Failure, stage: Maker | None, number: int | None, first: Shape, other: Shape) -> _Part:
    """By its number in the message, else the one part whose shape is open and fits both. Of a tuple, called as the function calls
    it that gives the elements."""
    parts = _components_before(failure, stage)
    if number is None:
        fitting = [
            at for at, part in enumerate(parts) if _fits(as_shape(part["shape"]), first) and _fits(as_shape(part["shape"]), other)
        ]
        number = fitting[0] if len(fitting) == 1 else None
    if number is None:
        return _Part("", first, other)
    name = str(parts[number]["name"]) if number < len(parts) else ""
    if name and not name.isdigit():
        return _Part(name, first, other)
    names = name_components(failure, stage, len(parts))
    return _Part(names[number] if number < len(names) else "", first, other, number=number + 1)


def _components_before(failure: Failure, stage: Maker | None) -> list[dict[str, object]]:
    """The parts of the elements that the stage is given."""
    stages = failure.stages
    at = next((at for at, each in enumerate(stages) if stage is not None and each.facts is stage.facts), 0)
    given = stages[at - 1].facts.get("components") if at else None
    return list(given or [])


def _fits(spec: Shape | None, shape: Shape) -> bool:
    if spec is None:
        return True
    return len(spec) == len(shape) and all(side is None or side == seen for side, seen in zip(spec, shape, strict=True))


def _call(stage: Maker, name: str) -> str:
    """`.batch(16)` as it is written, where that is short."""
    match = re.search(rf"{re.escape(name)}\([^()]*\)", " ".join(stage.source))
    return match[0] if match else name


def _padded(stage: Maker, part: _Part) -> tuple[LineChange, ...]:
    call = find_call(stage, "batch")
    takes_only_a_size = call is not None and len(call.args) <= 1 and {key.arg for key in call.keywords} <= _ONLY_ONE_BATCH
    if not part.has_one_rank or part.is_image or not takes_only_a_size:
        return ()
    padded = rename_call(stage, "batch", "padded_batch", _ANY_NUMBER)
    ragged = rename_call(stage, "batch", "ragged_batch", "if the model takes ragged tensors")
    return tuple(change for change in (padded, ragged) if change is not None)


def _fixed_shapes(parts: list[dict[str, object]], part: _Part) -> str:
    """The argument of padded_batch for N rows of the part; empty where the elements are nested."""
    shapes = [as_shape(each["shape"]) for each in parts]
    if part.number is None or part.number > len(shapes) or not part.differs_in_rows or any(shape is None for shape in shapes):
        return ""
    sides = [[str(side) for side in shape or ()] for shape in shapes]
    sides[part.number - 1][0] = "N"
    return f"({', '.join(f'[{chr(44).join(each)}]'.replace(',', ', ') for each in sides)}{',' if len(sides) == 1 else ''})"


def _tf_actions(part: _Part, is_changed: bool, fixed: str) -> tuple[str, ...]:
    if part.is_of_channels:
        return ("decode every image with the same number of channels: tf.io.decode_image(data, channels=3)",)
    if part.is_image:
        return ("resize the images to one size before the batch: image = tf.image.resize(image, (height, width))",)
    if not part.has_one_rank:
        return ("give every element the same rank before the batch: padding can only fill sides that are there",)
    fill = f"padded_batch with padded_shapes={fixed}" if fixed else "padded_batch with padded_shapes"
    number = f"or, if the model or the loss takes a fixed number N of rows, pad to that: {fill}"
    said = "padding fills with zeros: where 0 has a meaning, choose padding_values, or let the loss leave padding out by a mask"
    longest = () if is_changed else ("use padded_batch, which pads to the longest of the batch, or ragged_batch",)
    return (*longest, *((number,) if part.differs_in_rows else ()), said)


# --- PyTorch's DataLoader ---


def _of_loader(failure: Failure) -> Found:
    raised, batch = failure.raised, failure.argument("default_collate", "batch")
    loader, maker = failure.loader or (None, None)
    owner = next((line for line in failure.own_lines if loader is not None and loader in line.values), None)
    is_own_collate = raised is not None and raised in failure.quoted and "stack" in raised.code
    seen = failure.maker("batch")
    part = _part_seen(seen) if seen is not None else _part_of(batch, parse_shapes(failure.text.message))
    claims = [f"raised while a batch was put together, fetched at {owner.where}"] if owner is not None else []
    claims += [f"the loader was made at {maker.where}: {maker.code}"] if maker is not None else []
    claims += describe_elements(failure)
    claims.append(f"the error that ended it: {failure.text.line}")
    said = f"{part.words}{_made_from(seen) if seen is not None else ''}{part.hint}"
    changes = _with_collate(maker, batch) if maker is not None and not part.is_image and not is_own_collate else ()
    resize = _CONVERT if part.is_of_channels else "resize the images to one size in the data set, with their boxes"
    collate = "give DataLoader a collate_fn that pads each part to the longest, or keeps a list"
    where = maker.where if maker is not None and not is_own_collate else None
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The elements that the DataLoader puts into one batch do not have the same shape.{said}",
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=(resize,)
        if part.is_image
        else ("or pad each part to the longest in a collate_fn",)
        if changes
        else (collate,)
        if part.first is not None
        else (f"where the elements are images: {_CONVERT}, and resize them to one size", f"or {collate}"),
        where=where or (raised.where if raised is not None else None),
        changes=changes,
    )


def _part_seen(seen: Maker) -> _Part:
    """The elements as they were read where the error arose: the odd one, and the shape that most have."""
    part = seen.facts["parts"][0]
    odd = min(reversed(part["shapes"]), key=lambda row: int(row["count"]))
    most = max((row for row in part["shapes"] if row is not odd), key=lambda row: int(row["count"]))
    name = part["name"]
    number = int(name) + 1 if name.isdigit() else None
    shapes = as_shape(most["shape"]), as_shape(odd["shape"])
    return _Part("" if number else name, *shapes, other_at=odd["first"], number=number, others=most["count"])


def _made_from(seen: Maker) -> str:
    """The number of the odd element in the data set, and what it was made from."""
    index, source = seen.facts.get("index"), seen.facts.get("from")
    if index is None:
        return ""
    value = Value(source["name"], source) if source else None
    made = f", made from {value.text}" if value is not None and value.words else ""
    of = f" of the {seen.facts['length']:,}" if seen.facts.get("length") else ""
    return f" That is element {index:,}{of} of the data set{made}."


def _with_collate(maker: Maker, batch: Value | None) -> tuple[LineChange, ...]:
    """A collate_fn that keeps the elements as they are, by what they are."""
    elements = (batch.facts.get("items") or []) if batch is not None else []
    kinds = {element.get("type") for element in elements}
    keeps = {"dict": "list", "tuple": "lambda batch: tuple(zip(*batch))"}.get(kinds.pop() if len(kinds) == 1 else "")
    when = "keeping the elements of a batch as a list, if the model takes lists, as torchvision's detectors do"
    change = add_argument(maker, "DataLoader", f"collate_fn={keeps}", when) if keeps is not None else None
    return (change,) if change is not None else ()


def _part_of(batch: Value | None, shapes: list[Shape]) -> _Part:
    """The part of the elements whose shapes differ, from the elements themselves; else what the message says."""
    said = (shapes[0], shapes[1]) if len(shapes) >= 2 else (None, None)
    elements = (batch.facts.get("items") or []) if batch is not None else []
    for at, parts in enumerate(zip(*(element.get("items") or [] for element in elements), strict=False)):
        seen = [as_shape(part.get("shape")) for part in parts]
        other = next((number for number, shape in enumerate(seen) if shape is not None and shape != seen[0]), None)
        if other is not None and seen[0] is not None:
            keys = elements[0].get("keys") or elements[0].get("fields")
            return _Part(str(keys[at]) if keys and at < len(keys) else f"part {at}", seen[0], seen[other], other)
    return _Part("", *said)


# --- stack, in a line of the program's own ---


def _list_shapes(listed: Value, part: _Part) -> str:
    rows = listed.facts["shapes"]
    if len(rows) == 2:
        said = f" Element {part.other_at} of `{listed.name}` has the shape {format_shape(part.other)}, and {part.others} more "
        return f"{said}{'has' if part.others == 1 else 'have'} {format_shape(part.first)}."
    each = ", ".join(f"{format_shape(as_shape(row['shape']))} (element {row['first']})" for row in rows[:MAX_SHAPES])
    more = ", …" if len(rows) > MAX_SHAPES else ""
    return f" The {listed.facts['length']:,} elements of `{listed.name}` have different shapes: {each}{more}."


def _of_stack(failure: Failure) -> Found | Clear:
    raised = failure.raised
    if raised is None:
        return Clear("the error arose outside the program's own lines")
    listed = next((value for value in raised.values if len(value.facts.get("shapes") or []) > 1), None)
    shapes = parse_shapes(failure.text.message)
    if _INHOMOGENEOUS.search(failure.error.message):
        shapes = []  # the message tells only the part that is common
    if listed is not None:
        part = _part_seen(Maker("batch", "", None, (), 0, {"parts": [{"name": listed.name, "shapes": listed.facts["shapes"]}]}))
        said = _list_shapes(listed, part)
        source = listed.facts.get("from")
        which = "It" if len(listed.facts["shapes"]) == 2 else f"Element {part.other_at}"
        said += f" {which} was made from {Value(source['name'], source).text}." if source else ""
        said += part.hint
    else:
        part = _Part("", shapes[0], shapes[1]) if len(shapes) >= 2 else _Part("", None, None)
        said = (
            f" Two of the shapes are {format_shape(part.first)} and {format_shape(part.other)}." if part.first is not None else ""
        )
    if "could not broadcast input array" in failure.error.message and listed is None:
        return Clear("an assignment into an array, and no batch")
    claims = [f"{raised.place_in_words}: {raised.code}", f"the error that ended it: {failure.text.line}"]
    maker = raised.find_maker(listed) if listed is not None else None
    claims[1:1] = describe_insides([listed]) if listed is not None else ()
    if maker is not None:
        claims.insert(1, f"`{maker.name}` was given its value at {maker.where}: {maker.code}")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The arrays that are put together do not have the same shape.{said}",
        evidence=tuple(Evidence(claim, None, None, failure.events) for claim in claims),
        actions=(
            _CONVERT
            if part.is_of_channels
            else "resize the images to one size before they are put together"
            if part.is_image
            else "pad each array to the longest before they are put together, or keep them as a list",
        ),
        where=raised.where,
    )
