"""What is asked of a compiler or a probe, and what it answers: plain data, as it crosses between processes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from unstall.config.settings import Settings, as_plain

Phase = Literal["training", "evaluation"]
Way = Literal["compiled", "compiled on the card", "compiled for the CPU", "measured", "estimated"]
# The settings that the memory of a step depends on; the others are left out, so that one answer serves many runs.
RELEVANT = (
    "model", "detector", "precision", "remat", "batch_size", "micro_batch_size", "optimizer", "momentum", "weight_decay",
    "clip_norm",
    "ema_decay", "max_boxes_per_image", "lr_schedule", "deterministic",
)  # fmt: skip
ON_OR_OFF = ("momentum", "weight_decay", "clip_norm", "ema_decay")  # how much does not matter


@dataclass(frozen=True)
class Question:
    settings: dict[str, Any]  # the relevant ones; `detector` has the classes, too
    phase: Phase
    backend: str
    way: Way
    card: dict[str, Any] = field(default_factory=dict)  # to compile for, here or elsewhere; none: this machine's CPU

    def as_plain(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def create_question(
    settings: Settings, classes: int | None, phase: Phase, backend: str, way: Way, card: dict[str, Any]
) -> Question:
    plain = as_plain(settings)
    relevant = {name: plain[name] for name in RELEVANT}
    for name in ON_OR_OFF:
        relevant[name] = getattr(Settings, name) or 0.5 if relevant[name] else 0.0
    if classes is not None:
        relevant["detector"] = {**relevant["detector"], "num_classes": classes}
    relevant["micro_batch_size"] = settings.at_once
    if phase == "evaluation":
        relevant |= {"batch_size": relevant["micro_batch_size"], "remat": False}
    return Question(relevant, phase, backend, way, dict(card))


@dataclass(frozen=True)
class Answer:
    """All in bytes. `activations` is what is left of the need: outputs kept for the gradients, and scratch."""

    need: int
    weights: int
    gradients: int
    optimizer: int  # its slots, and the moving average of weights where there is one
    input: int
    activations: int
    state: int  # all that a checkpoint keeps
    layers: tuple[Layer, ...] = ()
    way: Way = "compiled"
    seconds: float = 0.0
    said: dict[str, Any] = field(default_factory=dict)  # by the compiler or the allocator, in its own words

    @property
    def room(self) -> int:
        """That the device must have for it. Beside the step: the next batch, which comes before the step is done; and where the
        first weights lay before a checkpoint took their place, a hole that is too small for what a step works with."""
        return self.need + self.input + self.weights

    def as_plain(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Answer:
        layers = tuple(Layer(**{**each, "shape": tuple(each["shape"])}) for each in plain["layers"])
        return cls(**{**plain, "layers": layers})


@dataclass(frozen=True)
class Sizes:
    """What can be counted, in bytes."""

    weights: int
    trainable: int  # of the weights
    optimizer: int
    input: int


def split(need: int, sizes: Sizes, layers: tuple[Layer, ...], said: dict[str, Any] | None = None) -> Answer:
    """A need in its parts. Gradients are as large as what is trained; where the rest is less, the compiler applies each as soon
    as it is there."""
    rest = max(0, need - sizes.weights - sizes.optimizer - sizes.input)
    gradients = min(sizes.trainable, rest)
    return Answer(
        need=need, weights=sizes.weights, gradients=gradients, optimizer=sizes.optimizer, input=sizes.input,
        activations=rest - gradients, state=sizes.weights + sizes.optimizer, layers=layers, said=said or {},
    )  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """What a layer puts out for the micro-batch, over all its calls."""

    name: str
    kind: str
    shape: tuple[int, ...]  # of its largest output
    calls: int
    bytes: int
