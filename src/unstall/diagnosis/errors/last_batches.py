"""A last batch that is smaller than the others: what it breaks, how the examples go up in batches, and what to change."""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import Explanation
from unstall.diagnosis.errors.failures import Failure, Shape, format_shape, parse_shapes
from unstall.diagnosis.errors.line_changes import add_argument
from unstall.diagnosis.verdict import LineChange

_ONE = re.compile(r"Expected more than 1 value per channel")
_HIDDEN = re.compile(r"Expected hidden(?:\[\d\])? size .*, got ")
_BATCH = 1  # the side of the batch in a hidden state: layers, batch, features


def explain_last_batch(failure: Failure, who: str, shape: Shape | None) -> Explanation | None:
    """What a layer of PyTorch refuses because of the number of examples. `shape`: what it was given."""
    if _ONE.search(failure.text.message):
        return _of_one_example(failure, who, shape)
    if _HIDDEN.search(failure.text.message):
        return _of_hidden_state(failure, who, shape)
    return None


def _of_one_example(failure: Failure, who: str, shape: Shape | None) -> Explanation:
    """One value per channel: of that, no variance can be computed."""
    given = f", {format_shape(shape)}," if shape else ""
    return Explanation(
        f"{who} was given a batch with one example{given} while it trains. That has one value per channel, and the mean "
        f"and the variance of a batch need more.{describe_last_batch(failure, 1)}",
        ("leave out a last batch of one example, or choose another batch size", "or call model.eval() where nothing is trained"),
        changes=_leave_out(failure),
    )


def _of_hidden_state(failure: Failure, who: str, shape: Shape | None) -> Explanation | None:
    """A hidden state that was made for another number of examples than the batch has."""
    shapes = parse_shapes(failure.text.message)[-2:]  # before them stands hidden[0]
    if len(shapes) != 2 or len(shapes[0]) != 3 or len(shapes[1]) != 3:
        return None
    needed, given = shapes
    sides = [at for at in range(3) if needed[at] != given[at]]
    if sides != [_BATCH]:
        return None
    batch, made = needed[_BATCH], given[_BATCH]
    last = describe_last_batch(failure, batch)
    came = f" {format_shape(shape)}" if shape else ""
    return Explanation(
        f"{who} was given a batch{came} of {batch} examples, and a hidden state for {made}: it has the shape "
        f"{format_shape(given)}, and {format_shape(needed)} is needed.{last}",
        (
            *(("leave out the last batch",) if last else ()),
            f"{'or ' if last else ''}make the hidden state for the examples of each batch, as by their number x.size(0)",
        ),
        changes=_leave_out(failure) if last else (),
    )


def describe_last_batch(failure: Failure, size: int | None) -> str:
    """How the examples of the loader at hand go up in its batches, where `size` are left over."""
    loader = failure.loader[0] if failure.loader is not None else None
    count, each = (loader.facts.get("examples"), loader.facts.get("batch_size")) if loader is not None else (None, None)
    if loader is None or not count or not each or not size or count % each != size:
        return ""
    whole, last = f"{count // each:,} x {each}", "one" if size == 1 else size
    return f" `{loader.name}` makes batches of {each} from {count:,} examples, {whole} + {size}: the last has {last}."


def _leave_out(failure: Failure) -> tuple[LineChange, ...]:
    maker = (failure.loader or (None, None))[1]
    change = add_argument(maker, "DataLoader", "drop_last=True", "to leave out the last batch") if maker is not None else None
    return (change,) if change is not None else ()
