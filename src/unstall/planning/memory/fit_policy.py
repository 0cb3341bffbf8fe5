"""What to change so that a training fits: in one order, the cheapest first, each with what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from unstall.config.settings import Precision

COSTS = {
    "as wanted": "nothing",
    "bfloat16": "layers compute with 8 bits of precision rather than 24; weights, norms and losses stay in float32",
    "remat": "the backbone's blocks are computed a second time for the gradients: a quarter to a third more time a step",
    "micro-batch": "gradients of several passes are summed up: the same update, in smaller and less well filled passes. "
    "Batch norms that learn see the smaller batch",
}


@dataclass(frozen=True)
class Choice:
    precision: Precision
    remat: bool
    micro_batch_size: int

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class FitAttempt:
    """A way to run, and what it would need."""

    what: str  # a key of COSTS
    choice: Choice
    need_bytes: int
    fits: bool

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "costs": COSTS[self.what]}


Need = Callable[[Choice], int]


def choose(wanted: Choice, batch_size: int, need: Need, limit: int, has_bfloat16: bool) -> tuple[FitAttempt, ...]:
    """What was tried, in order; the last one fits, or nothing does."""
    tried: list[FitAttempt] = []
    for what, choice in list_choices(wanted, batch_size, has_bfloat16):
        if what == "micro-batch":
            choice = _largest_divisor(choice, batch_size, need, limit)  # noqa: PLW2901 one of many, found by looking
        bytes_ = need(choice)
        tried.append(FitAttempt(what, choice, bytes_, bytes_ <= limit))
        if tried[-1].fits:
            break
    return tuple(tried)


def list_choices(wanted: Choice, batch_size: int, has_bfloat16: bool) -> Iterator[tuple[str, Choice]]:
    """Each keeps what those before it changed. What is chosen already is not chosen again."""
    choice = wanted
    yield "as wanted", choice
    if choice.precision == "float32" and has_bfloat16:
        choice = replace(choice, precision="bfloat16")
        yield "bfloat16", choice
    if not choice.remat:
        choice = replace(choice, remat=True)
        yield "remat", choice
    if choice.micro_batch_size > 1:
        yield "micro-batch", choice


def _largest_divisor(choice: Choice, batch_size: int, need: Need, limit: int) -> Choice:
    """Of the sizes that divide the batch and are smaller than the one that did not fit. The line through two of them says where
    to look first; the smallest one is the answer where none fits."""
    sizes = [size for size in range(1, choice.micro_batch_size) if batch_size % size == 0]
    looked = {choice.micro_batch_size: need(choice)}

    def look(size: int) -> int:
        if size not in looked:
            looked[size] = need(replace(choice, micro_batch_size=size))
        return looked[size]

    low, high = 0, len(sizes) - 1  # of places: everything above `high` does not fit
    guess = _guess(sizes, looked, limit)
    while low < high:
        place = min(max(guess, low + 1), high)
        if look(sizes[place]) <= limit:
            low = place
        else:
            high = place - 1
        guess = _guess(sizes, looked, limit)
    return replace(choice, micro_batch_size=sizes[low])


def _guess(sizes: list[int], looked: dict[int, int], limit: int) -> int:
    """The place of the largest size that the line through two looks puts within the limit; with one look, through zero."""
    nearest = sorted(looked.items(), key=lambda pair: abs(pair[1] - limit))[:2]
    (size, bytes_), (other, other_bytes) = nearest if len(nearest) == 2 else (nearest[0], (0, 0))
    slope = (bytes_ - other_bytes) / (size - other)
    within = size + (limit - bytes_) / slope if slope > 0 else sizes[0]
    return max((place for place, each in enumerate(sizes) if each <= within), default=0)
