"""The events of a training: how long callbacks take; and of Unstall's own trainer: what it began with, what it kept, what it met,
how well it does, how it ended.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class TrainingBegan(Event):
    """The worker is about to make its first step: a fresh one, or the one after a checkpoint."""

    model: str = ""
    backend: str = ""
    device: str = ""  # as the backend calls it
    precision: str = ""
    batch_size: int = 0
    micro_batch_size: int = 0
    steps_per_epoch: int = 0
    epochs: int = 0
    examples: int = 0  # to learn from
    from_step: int = 0  # counted over all epochs; 0: from the beginning
    plan_of_memory_bytes: Optional[int] = None  # what the step was planned to need on the device; None: nobody planned it


@dataclass(frozen=True)
class CheckpointCompleted(Event):
    """Written, read back and verified: the run can go on from it."""

    step: int = 0
    epoch: int = 0
    path: str = ""
    size_bytes: int = 0
    seconds: float = 0.0  # from the snapshot to the verified file
    blocked_s: float = 0.0  # of these the training stood still


@dataclass(frozen=True)
class CheckpointFailed(Event):
    """Could not be written, on a full disk say. The training goes on, and it is tried again later."""

    step: int = 0
    path: str = ""
    error: str = ""


@dataclass(frozen=True)
class CheckpointRefused(Event):
    """Found damaged or half-written; the newest before it that is sound is taken. The steps between the two are lost."""

    path: str = ""
    why: str = ""
    step: int = 0  # of this one
    instead_step: int = 0  # of the one that is taken; 0: from the beginning, as none is sound


@dataclass(frozen=True)
class PreemptionNoticed(Event):
    """The machine will be taken away, as its cloud has said; the worker was asked to save and end."""

    source: str = ""  # the server that said so
    what: str = ""  # preempted | maintenance-event


@dataclass(frozen=True)
class UpdateSkipped(Event):
    """The loss or the gradient of a step was not finite, so its update was not applied."""

    step: int = 0
    epoch: int = 0
    what: str = ""  # loss | gradient
    rows: list[int] = field(default_factory=list)  # of the examples in the batch, as the training data numbers them
    path: str = ""  # where the batch was written for a look; empty: enough of them lie there already
    in_a_row: int = 0  # how many updates have been skipped without one between them, this one included


@dataclass(frozen=True)
class UpdatesMeasured(Event):
    """How large they were: those that were applied since the last time. Norms are means, of gradients before they were cut."""

    step: int = 0  # the last of them
    updates: int = 0
    rate: float = 0.0  # of the last
    norm: float = 0.0
    norms: dict[str, float] = field(default_factory=dict)  # by group, from the image to the boxes


@dataclass(frozen=True)
class MemoryExhausted(Event):
    """Of the device, or of the host."""

    step: int = 0
    phase: str = ""  # build | first_step | train | validate | save
    micro_batch_size: int = 0
    precision: str = ""
    message: str = ""


@dataclass(frozen=True)
class LossDiverged(Event):
    step: int = 0
    loss: Optional[float] = None  # the median of the last steps
    usual_loss: Optional[float] = None  # the median before it rose
    since_step: int = 0


@dataclass(frozen=True)
class EpochScored(Event):
    epoch: int = 0
    step: int = 0
    figures: dict[str, Optional[float]] = field(default_factory=dict)  # COCO's; None where there is nothing to find
    is_best: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class TrainingEnded(Event):
    step: int = 0
    exit_name: str = ""  # a name of base/errors.py
    seconds: float = 0.0


# The events of repairing: what the supervisor planned, whether it helped, what it took back, and when it gave up.
#
# Standard library only, syntax of Python 3.7, as all of the journal.


@dataclass(frozen=True)
class PlanMade(Event):
    """A remedy was chosen for a fault, and settings were changed as it says."""

    remedy: str = ""  # a file of unstall/remedies
    cause: str = ""  # the fault that it treats
    verb: str = ""  # restart | resume from | change | skip examples | stop | ask
    change: dict[str, Any] = field(default_factory=dict)  # settings by name, as they are from now on
    undo: dict[str, Any] = field(default_factory=dict)  # the same, as they were
    why: str = ""
    attempt: int = 0  # the how many'th repair of this run; 0: before its first step
    max_attempts: int = 0  # repairs that the run may have
    step: int = 0  # that the fault came in, counted over all epochs
    from_step: int = 0  # of the checkpoint that the run goes on from
    happened: str = ""
    evidence: list[str] = field(default_factory=list)
    verify: str = ""  # how it will be seen that it helped


@dataclass(frozen=True)
class PlanVerified(Event):
    remedy: str = ""
    how: str = ""  # what was seen
    attempt: int = 0


@dataclass(frozen=True)
class PlanUndone(Event):
    """It did not help: the settings are again as they were before it."""

    remedy: str = ""
    change: dict[str, Any] = field(default_factory=dict)  # settings by name, as they are again
    why: str = ""
    attempt: int = 0


@dataclass(frozen=True)
class RepairsEnded(Event):
    """The run cannot be helped, or may not be any more."""

    cause: str = ""
    step: int = 0
    happened: str = ""
    evidence: list[str] = field(default_factory=list)
    why: str = ""  # nothing more is done about it
    advice: str = ""  # what a person may do, where a remedy has to be asked for
    command: str = ""  # that reproduces it


@dataclass(frozen=True)
class CallbacksTimed(Event):
    """Callbacks of Keras, each by itself; written only of a fit whose callbacks together take long, and from then on.

    Each: name (of its class), where (file:line of the method, None if it is not the program's own), hook (on_epoch_end, …), timed
    (calls that were timed), seconds and longest_s (of those, without validations, predictions and saves in them), cpu_s (of the
    thread that trains)."""

    seconds: float = 0.0  # since they are timed
    calls: dict[str, int] = field(default_factory=dict)  # by hook: all calls since then, timed or not
    callbacks: list[dict[str, Any]] = field(default_factory=list)
