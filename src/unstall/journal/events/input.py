"""The events of input: of Unstall's own pipeline (what it skipped, whom it replaced, where its time went), and of the program's.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class ExampleSkipped(Event):
    """An example could not be used while training; another took its place."""

    name: str = ""
    file: str = ""
    why: str = ""
    count: int = 0  # of those skipped up to now, each counted once
    share: float = 0.0  # of all examples


@dataclass(frozen=True)
class WorkerReplaced(Event):
    """A worker of the pipeline hung or died, and another took over."""

    worker: str = ""
    example: str = ""  # that it was at
    file: str = ""
    why: str = ""
    seconds: float = 0.0  # it had been at the example
    count: int = 0  # of workers replaced up to now


@dataclass(frozen=True)
class InputMeasured(Event):
    """What the pipeline has done since its iterator was made. Times of workers are summed over all of them."""

    epoch: int = 0
    step: int = 0  # the last one handed out
    engine: str = ""  # threads | tf.data
    workers: int = 0  # at most
    at_work: int = 0  # of them, now: as many as help
    seconds: float = 0.0
    batches: int = 0
    examples: int = 0
    read_s: float = 0.0
    decode_s: float = 0.0
    augment_s: float = 0.0  # resizing, filling and colours
    batch_s: float = 0.0  # putting batches together and handing them out
    transfer_s: float = 0.0  # on to the device, as far as whoever moves them tells
    wait_s: float = 0.0  # that the consumer waited for a batch
    read_bytes: int = 0
    ready_batches: int = 0  # made and not yet taken
    max_ready_batches: int = 0
    held_bytes: int = 0  # of all batches made ahead or being made
    cache_bytes: int = 0
    cache_hits: int = 0
    boxes_left_out: int = 0
    skipped: int = 0
    replaced_workers: int = 0


# --- what the program's own input is made of ---


@dataclass(frozen=True)
class PipelineBuilt(Event):
    """One tf.data stage, with the user's line that made it."""

    stage: str = ""  # map, batch, shuffle, from_generator, ...
    where: Optional[str] = None
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PatternMatchedNothing(Event):
    """A file pattern of the program's own matched no file."""

    pattern: str = ""
    where: Optional[str] = None
    within: list[str] = field(default_factory=list)  # lines of the program whose call of a library asked for it, innermost first


@dataclass(frozen=True)
class ImageNotRead(Event):
    """OpenCV gave None for an image, which is how it says that it could not read it."""

    path: str = ""
    exists: bool = False
    where: Optional[str] = None


@dataclass(frozen=True)
class PipelineMeasured(Event):
    """What the stages of one tf.data iterator have done up to now, as TensorFlow itself measures it. Both lists begin at the
    source. stages, as the program made them (told once for each iterator): name, stage, where, arguments, does. nodes, as
    TensorFlow runs them: name, elements, seconds (of work, summed over its threads), at_a_time, buffered."""

    number: int = 0  # of the iterator, in the order they were made
    role: str = "train"  # train | validate
    seconds: float = 0.0  # since the iterator was made
    stages: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    in_graph: bool = False  # the iterator lives inside a tf.function: it cannot be measured


@dataclass(frozen=True)
class InputDescribed(Event):
    """What was given to fit as input."""

    kind: str = ""  # tf.data | PyDataset | generator | arrays | torch DataLoader | ...
    where: Optional[str] = None
    batches: Optional[int] = None  # None: unknown, -1: infinite
    arguments: dict[str, Any] = field(default_factory=dict)
    role: str = "train"  # train | validate | predict
