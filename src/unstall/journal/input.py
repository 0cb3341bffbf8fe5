"""The events of Unstall's own input pipeline: what it skipped, whom it replaced, where its time went.

Standard library only, syntax of Python 3.9, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.journal.base import Event


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
    workers: int = 0
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
    most_ready_batches: int = 0
    held_bytes: int = 0  # of all batches made ahead or being made
    cache_bytes: int = 0
    cache_hits: int = 0
    boxes_left_out: int = 0
    skipped: int = 0
    replaced_workers: int = 0
