"""Every event of a journal: a frozen dataclass named in the past tense.

An event says what was seen, never what it means. `at` is the wall clock in seconds; durations are measured with
the monotonic clock and carry their unit in the name. Fields are plain data (numbers, strings, lists, dicts), so that
one line of JSON is one event. A reader ignores fields that it does not know and fills missing ones with defaults:
journals of other versions stay readable.

This module also runs inside the watched program: standard library only, syntax of Python 3.7.
"""

from __future__ import annotations

import dataclasses
import signal as signals
from dataclasses import dataclass, field
from typing import Any, Optional

from unstall.journal.events.base import Event, EventsLost, Frame, ProbeFailed, ThreadStack, VerdictReached
from unstall.journal.events.input import (
    ExampleSkipped,
    ImageNotRead,
    InputDescribed,
    InputMeasured,
    PatternMatchedNothing,
    PipelineBuilt,
    PipelineMeasured,
    WorkerReplaced,
)
from unstall.journal.events.memory import CompilationsCounted, DeviceMemoryCounted, DevicesListed, HoldingsCounted, KillsCounted
from unstall.journal.events.output import LossPrinted, OutputSkipped, ProgressPrinted
from unstall.journal.events.record import (
    BatchesCounted,
    CircumstancesSeen,
    DataMeasured,
    DataMet,
    ModelRecorded,
    ModulesLoaded,
    SourcesCopied,
    VersionsRead,
)
from unstall.journal.events.sensors import (
    ChildSeen,
    ClassesCompared,
    ClusterSeen,
    DatabasesSeen,
    DataChecked,
    DeviceSampled,
    DiskSeen,
    ExperimentEnded,
    HostSampled,
    IdleSeen,
    KernelSpoke,
    LabelFound,
    LibrariesSeen,
    PathLooked,
    RecordFeaturesRead,
    SampleFailed,
    SourceRead,
    StackSampled,
    StallBegan,
    StallEnded,
    ThreadsSeen,
)
from unstall.journal.events.training import (
    CallbacksTimed,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointRefused,
    EpochScored,
    LossDiverged,
    MemoryExhausted,
    PlanMade,
    PlanUndone,
    PlanVerified,
    PreemptionNoticed,
    RepairsEnded,
    TrainingBegan,
    TrainingEnded,
    UpdateSkipped,
    UpdatesMeasured,
)
from unstall.journal.events.workers import (
    MachineSeen,
    MembershipSeen,
    OthersLost,
    OthersMissed,
    WorkerFaltered,
    WorkerJoined,
    WorkerRecovered,
    WorkersAwaited,
)

# Events are imported from here, wherever they are defined.
__all__ = [
    "BatchesCounted", "CallbacksTimed", "CheckpointCompleted", "CheckpointFailed", "CheckpointRefused", "ChildSeen",
    "CircumstancesSeen", "ClassesCompared", "ClusterSeen", "CompilationsCounted", "DataChecked", "DataMeasured", "DataMet",
    "DatabasesSeen", "DeviceMemoryCounted", "DeviceSampled", "DevicesListed", "DiskSeen", "EpochScored", "Event", "EventsLost",
    "ExampleSkipped", "ExperimentEnded", "Frame", "HoldingsCounted", "HostSampled", "IdleSeen", "ImageNotRead",
    "InputDescribed", "InputMeasured", "KernelSpoke", "KillsCounted", "LabelFound", "LibrariesSeen",
    "LossDiverged", "LossPrinted", "MachineSeen", "MembershipSeen", "MemoryExhausted", "ModelRecorded", "ModulesLoaded",
    "OthersLost", "OthersMissed", "OutputSkipped", "PathLooked", "PatternMatchedNothing", "PipelineBuilt", "PipelineMeasured",
    "PlanMade", "PlanUndone", "PlanVerified", "PreemptionNoticed", "ProbeFailed", "ProgressPrinted", "RecordFeaturesRead",
    "RepairsEnded", "SampleFailed", "SourceRead", "SourcesCopied", "StackSampled", "StallBegan", "StallEnded", "ThreadStack",
    "ThreadsSeen", "TrainingBegan", "TrainingEnded", "UpdateSkipped", "UpdatesMeasured", "VerdictReached", "VersionsRead",
    "WorkerFaltered", "WorkerJoined", "WorkerRecovered", "WorkerReplaced", "WorkersAwaited",
]  # fmt: skip


TERMINATION_SIGNALS = frozenset(
    {signals.SIGTERM, signals.SIGINT, signals.SIGHUP, signals.SIGQUIT}
)  # signals that ask a program to end


# --- the run and its processes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunStarted(Event):
    mode: str = ""  # run | attach | guard | watch | train
    command: list[str] = field(default_factory=list)
    folder: str = ""  # the working folder of the program
    pid: int = 0
    version: str = ""


@dataclass(frozen=True)
class ProgramStarted(Event):
    """The probe runs inside a Python process."""

    pid: int = 0
    python: str = ""
    argv: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FrameworkLoaded(Event):
    name: str = ""  # tensorflow | keras | tf_keras | jax | torch
    version: str = ""


@dataclass(frozen=True)
class SignalsSeen(Event):
    """What the hooks of the probe give in this program, told when a training begins and at the end. A signal is seen where a hook
    found the place in the framework that it needs: another version may not have it."""

    pid: int = 0
    frameworks: dict[str, str] = field(default_factory=dict)  # name and version of those that are loaded
    seen: list[str] = field(default_factory=list)  # steps | loss | gradients | input wait | …
    not_seen: dict[str, list[str]] = field(default_factory=dict)  # by framework: what is expected of it, and no hook gives


@dataclass(frozen=True)
class ProgramEnded(Event):
    """The interpreter came to its orderly end (atexit): not written after os._exit or a kill."""

    pid: int = 0
    peak_rss_bytes: Optional[int] = None  # the most that it ever had in memory


@dataclass(frozen=True)
class ProcessEnded(Event):
    """As the parent saw it end."""

    pid: int = 0
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    stopped_by_us: bool = False
    peak_rss_bytes: Optional[int] = None  # the most that it ever had in memory, by the kernel's own account


@dataclass(frozen=True)
class SignalSent(Event):
    """A signal that Unstall passed on to the program (it was sent to Unstall), or that the terminal sent to both."""

    signal: int = 0
    sender_pid: int = 0
    from_terminal: bool = False

    @property
    def asks_for_the_end(self) -> bool:
        return self.signal in TERMINATION_SIGNALS


@dataclass(frozen=True)
class SignalRaised(Event):
    """The program itself sent a signal to a process: to itself, when pid is its own (or its group)."""

    pid: int = 0
    target: int = 0
    signal: int = 0
    where: Optional[str] = None


# --- training, seen from inside ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PhaseBegan(Event):
    """phase: fit | first_step | train | validate | save | predict | loop."""

    phase: str = ""
    step: int = -1
    epoch: int = -1


@dataclass(frozen=True)
class PhaseEnded(Event):
    phase: str = ""
    step: int = -1
    epoch: int = -1
    seconds: float = 0.0


@dataclass(frozen=True)
class FitBegan(Event):
    api: str = ""  # keras | tf_keras | own_loop | watch
    backend: str = ""
    epochs: Optional[int] = None
    steps_per_epoch: Optional[int] = None
    where: Optional[str] = None  # the user's line that called fit


@dataclass(frozen=True)
class FitEnded(Event):
    seconds: float = 0.0
    steps: int = 0


@dataclass(frozen=True)
class StepsEnded(Event):
    """Steps first..last, both included. Short steps are put together, so that a journal stays small."""

    phase: str = "train"  # train | validate | predict
    first: int = 0  # counted over the whole fit, from 0
    last: int = 0
    epoch: int = 0
    seconds: float = 0.0  # of all of them, begin of the first to end of the last
    busy_s: float = 0.0  # inside the step itself, callbacks excluded
    longest_s: float = 0.0
    wait_s: Optional[float] = None  # waiting for input, in the steps where it was measured
    waited_steps: int = 0  # in how many of them it was measured
    loss: Optional[float] = None  # mean of the batch losses over these steps, as far as the framework tells
    loss_is_finite: Optional[bool] = None


@dataclass(frozen=True)
class EpochEnded(Event):
    epoch: int = 0
    seconds: float = 0.0
    logs: dict[str, Optional[float]] = field(default_factory=dict)  # None: not finite
    not_finite: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CheckpointSaved(Event):
    path: str = ""
    seconds: float = 0.0
    where: Optional[str] = None


@dataclass(frozen=True)
class ErrorRaised(Event):
    kind: str = ""  # class name, with module when not a builtin
    message: str = ""
    frames: list[Frame] = field(default_factory=list)  # innermost first
    fatal: bool = False  # it reached the top and ended the program; of a thread that it ended, this is False
    thread: str = ""
    phase: str = ""
    step: int = -1
    chain: list[str] = field(default_factory=list)  # "kind: message" of the errors that led to it, the nearest first
    names: list[str] = field(default_factory=list)  # of a thread that it ended: what the program's own functions in it use
    caught: bool = False  # the program was handling it when it ended itself
    own_class: bool = False  # its class is one of the program's own


@dataclass(frozen=True)
class ErrorInspected(Event):
    """What the program's own lines held when an error passed through them, and which lines made what failed there."""

    error_at: float = 0.0  # the moment of the error, as ErrorRaised has it
    lines: list[dict[str, Any]] = field(default_factory=list)  # of the program's own, outermost first, with the values used there
    calls: list[dict[str, Any]] = field(default_factory=list)  # of libraries below them, outermost first, with their arguments
    pipelines: list[dict[str, Any]] = field(default_factory=list)  # tf.data sets at hand: their stages, the source first
    makers: list[dict[str, Any]] = field(default_factory=list)  # what made what failed, or explains it, each with its line
    seconds: float = 0.0


@dataclass(frozen=True)
class ExitCalled(Event):
    """The program called sys.exit with something other than success."""

    exit_code: int = 0
    message: str = ""  # where it was called with a text
    given: str = ""  # the class of what it was called with, where that is neither a number nor a text
    where: Optional[str] = None  # the user's line that called it
    error_at: Optional[float] = None  # the moment of the error that was being handled
    not_finite: list[str] = field(default_factory=list)  # losses in that line's function: `loss_value = nan`


@dataclass(frozen=True)
class FileMet(Event):
    """A file that the program had to do with when an error ended it."""

    path: str = ""
    how: str = ""  # open | read (what a library that raised the error was reading) | the name of the variable that holds it
    in_line: bool = False  # the variable stands in a line of the traceback: the call that failed was given this path


@dataclass(frozen=True)
class WarningShown(Event):
    source: str = ""  # warnings | logging:<logger name>
    category: str = ""
    message: str = ""
    where: Optional[str] = None


@dataclass(frozen=True)
class ModelDescribed(Event):
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WeightsSampled(Event):
    step: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchSampled(Event):
    step: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FunctionTraced(Event):
    """A compiled function was traced (again). count: traces of this function up to now."""

    function: str = ""
    where: Optional[str] = None  # where it is defined, if by the user
    called_at: Optional[str] = None  # the user's line that led to this trace
    count: int = 0
    calls: int = 0
    seconds: float = 0.0  # spent in all these traces
    step: int = -1
    why: str = ""  # "made anew", "new shape", or "value of step", "shape of x", "type of x": what differed most often
    objects: int = 0  # how many function objects were made from these lines of code


@dataclass(frozen=True)
class GradientsMissed(Event):
    """Variables that should be trained and got no gradient (None, or a constant zero)."""

    missing: list[str] = field(default_factory=list)
    total: int = 0  # variables asked for
    missing_parameters: int = 0
    parameters: int = 0
    where: Optional[str] = None  # the user's line that asked for the gradients, or called fit
    feeding: Optional[list[str]] = None  # those of the missing on whose value the loss depends; None: not known
    cut_at: Optional[str] = None  # the user's line after which the gradient is lost
    cut_by: str = ""  # what cuts it there: ArgMax, Round, numpy(), detach(), ...
    step: int = -1


@dataclass(frozen=True)
class LoopSeen(Event):
    """A fact about one's own loop, e.g. an iterator made anew in each step."""

    facts: dict[str, Any] = field(default_factory=dict)


def _kinds(base: type[Event]) -> dict[str, type[Event]]:
    kinds = {base.__name__: base}
    for kind in base.__subclasses__():
        kinds.update(_kinds(kind))
    return kinds


KINDS: dict[str, type[Event]] = _kinds(Event)
_FIELDS: dict[str, frozenset[str]] = {name: frozenset(f.name for f in dataclasses.fields(kind)) for name, kind in KINDS.items()}


def to_plain(event: Event) -> dict[str, Any]:
    """The event as plain data, its name first. Shallow: fields hold plain data already."""
    return {"event": type(event).__name__, **event.__dict__}


def from_plain(plain: dict[str, Any]) -> Event | None:
    """The event, or None for a kind that this version does not know."""
    name = plain.get("event", "")
    kind = KINDS.get(name)
    if kind is None:
        return None
    known = _FIELDS[name]
    return kind(**{key: value for key, value in plain.items() if key in known})
