"""The plan: what a run will need, by whose word, whether it fits, and what to change where it does not. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from unstall.config.settings import Precision
from unstall.planning.memory.devices import Device, HostNeed
from unstall.planning.memory.messages import Answer, Way

SHOWN_LAYERS = 12
MAX_IMAGES = 1024  # of a micro-batch that are looked for: above, nothing is gained


@dataclass(frozen=True)
class MemoryPlan:
    device: Device
    backend: str
    way: Way
    asked_of: str  # the backend whose figures these are: JAX's may stand for another's
    error: float  # by how much such figures have been wrong, as a share: so much is kept free
    usable_bytes: int  # of the device, by this backend
    usable_why: str
    wanted: Choice
    tried: tuple[FitAttempt, ...]  # in order; the last one is what the figures below are of
    batch_size: int
    training: Answer
    evaluation: Answer  # beside it the state of the training stays where it is
    evaluation_batch: int  # images at once
    largest_micro_batch: int | None  # None: was not looked for
    host: HostNeed
    note: str = ""  # what would give better figures

    @property
    def limit_bytes(self) -> int:
        """What is promised, at most."""
        return compute_limit(self.usable_bytes, self.error)

    @property
    def fits(self) -> bool:
        return self.tried[-1].fits and with_state(self.evaluation, self.training) <= self.limit_bytes

    @property
    def host_fits(self) -> bool:
        """Of a device that is elsewhere, so is its host."""
        return self.host.fits or not self.device.is_here

    @property
    def chosen(self) -> Choice:
        return self.tried[-1].choice

    def changes(self) -> dict[str, Any]:
        """Of the settings, so that it fits: nothing where it does as it was wanted, or nothing helps."""
        if not self.fits:
            return {}
        wanted, chosen = self.wanted.as_plain(), self.chosen.as_plain()
        return {name: value for name, value in chosen.items() if value != wanted[name]}

    def as_plain(self) -> dict[str, Any]:
        layers = list(self.training.as_plain()["layers"][:SHOWN_LAYERS])
        return {
            "device": self.device.as_plain(), "backend": self.backend, "method": self.way, "asked_of": self.asked_of,
            "error": self.error, "usable_bytes": self.usable_bytes, "usable_why": self.usable_why,
            "limit_bytes": self.limit_bytes, "fits": self.fits, "batch_size": self.batch_size,
            "wanted": self.wanted.as_plain(), "chosen": self.chosen.as_plain(), "changes": self.changes(),
            "tried": [each.as_plain() for each in self.tried],
            "training": _parts(self.training),
            "evaluation": {
                **_parts(self.evaluation), "images": self.evaluation_batch,
                "with_the_training": with_state(self.evaluation, self.training),
            },
            "checkpoint": {"disk_bytes": self.training.state, "host_bytes": self.training.state},
            "layers": layers, "largest_micro_batch": self.largest_micro_batch, "max_images": MAX_IMAGES,
            "host": self.host.as_plain(), "note": self.note,
        }  # fmt: skip


def compute_limit(usable_bytes: int, error: float) -> int:
    return int(usable_bytes / (1 + error))


def with_state(evaluation: Answer, training: Answer) -> int:
    """What an evaluation needs with what the training keeps on the device meanwhile; it works on copies of the weights."""
    return evaluation.need + training.state


def _parts(answer: Answer) -> dict[str, Any]:
    names = ("need", "weights", "gradients", "optimizer", "activations", "input", "seconds")
    return {name: getattr(answer, name) for name in names}


# What to change so that a training fits: in one order, the cheapest first, each with what it costs.


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
