"""A shuffle buffer needs more memory than there is.

What it is
----------
`ds.shuffle(n)` keeps n elements in memory. Placed after the decoding, n images of a few megabytes are many gigabytes. The
buffer fills before the first step, memory grows all the while, and then the program is killed.

How we know
-----------
The stage says how many elements it keeps, and the data set how large one is: their product is more than the memory that
was free when the filling began. No step has ended since, and memory grows. Where elements differ in size, the kernel's kill
in the middle of the filling says it.

When this is wrong
------------------
If memory grows for another reason while the buffer fills, and the elements are smaller than the data set says.

What to do
----------
Shuffle file names or records before the decoding: they are small. Or make the buffer smaller: a few hundred decoded images
mix well if the files themselves are shuffled.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.base.formatting import format_size
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.out_of_memory import MemoryKill, find_memory_kill, find_shortage
from unstall.diagnosis.probe_facts import shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.journal.events import Event, HostSampled, PipelineBuilt, StepsEnded
from unstall.journal.reader import Journal

EXPLAINS = (
    "host_memory_exhausted", "shuffle_buffer_filling", "host_memory_leaking", "swapping", "input_starved", "killed_from_outside",
    "storage_slow",
)  # fmt: skip
GROWN_SHARE = 0.1  # of the memory that was free: so much must have been filled before anything is said
SURE_SHARE = 0.5  # after so much of it there is no doubt
NEARLY_ALL = 0.6  # a buffer that takes so much of the free memory is to blame if the program is killed while it fills
MIN_ELEMENTS = 16


@dataclass(frozen=True)
class ShuffleBuffer:
    """The largest buffer that is being filled."""

    stage: PipelineBuilt
    kept: int  # elements
    element_bytes: int | None
    before: HostSampled
    latest: HostSampled
    hosts: tuple[HostSampled, ...]

    @property
    def planned_bytes(self) -> int | None:
        return None if self.element_bytes is None else self.kept * self.element_bytes

    @property
    def grown_bytes(self) -> int:
        return max(host.rss_bytes for host in self.hosts) - self.before.rss_bytes

    @property
    def free_bytes(self) -> int:
        left = measure_room(self.before)
        return left.left_bytes if left else 0


def examine(journal: Journal) -> Verdict:
    stages = [stage for stage in journal.of(PipelineBuilt) if stage.stage == "shuffle"]
    if not stages:
        return Clear("no tf.data pipeline of the program shuffles")
    if not journal.of(HostSampled):
        return Unknown("samples of the host's memory")
    fillings = [found for stage in stages if (found := _filling(journal, stage)) is not None]
    if not fillings:
        return Clear("steps have ended since the buffers were made, or the buffers are small")
    filling = max(fillings, key=lambda each: (each.planned_bytes or 0, each.kept))
    kill = find_memory_kill(journal)
    killed = kill is not None and kill.is_main
    short_of = find_shortage(journal)
    died = killed or (short_of is not None and not short_of.of_device)
    if not _is_too_large(filling, died):
        return Clear("the shuffle buffer fits into what is free")
    return _found(journal, filling, kill if killed else None, died)


def _filling(journal: Journal, stage: PipelineBuilt) -> ShuffleBuffer | None:
    """The stage while it fills: no training step has ended since it was made."""
    kept = _kept(stage)
    if kept < MIN_ELEMENTS or any(steps.at > stage.at for steps in journal.of(StepsEnded) if steps.phase == "train"):
        return None
    hosts = journal.of(HostSampled)
    before = next((host for host in reversed(hosts) if host.at <= stage.at), hosts[0])
    since = tuple(host for host in hosts if host.at >= before.at)
    return ShuffleBuffer(stage, kept, stage.arguments.get("element_bytes"), before, since[-1], since)


def _kept(stage: PipelineBuilt) -> int:
    """Elements in the full buffer: its size, or the whole data set if that is smaller."""
    try:
        buffer = int(stage.arguments.get("buffer_size", stage.arguments.get("argument_0", 0)))
    except (TypeError, ValueError):
        return 0
    elements = stage.arguments.get("elements", -2)
    if buffer < 0:  # a whole data set, of unknown or known size
        return elements if elements > 0 else 0
    return min(buffer, elements) if elements >= 0 else buffer


def _is_too_large(filling: ShuffleBuffer, died: bool) -> bool:
    free, planned, grown = filling.free_bytes, filling.planned_bytes, filling.grown_bytes
    if free <= 0:
        return False
    if planned is None:
        return died and grown >= SURE_SHARE * free
    if died and planned >= NEARLY_ALL * free and grown >= GROWN_SHARE * free:
        return True
    return planned > free and grown >= GROWN_SHARE * free


def _found(journal: Journal, filling: ShuffleBuffer, kill: MemoryKill | None, died: bool) -> Found:
    place = shorten_path(journal, filling.stage.where)
    at = f" at {place}" if place else ""
    planned, free = filling.planned_bytes, filling.free_bytes
    needs = (
        f", which need {format_size(planned)}"
        if planned is not None
        else f"; memory grew by {format_size(filling.grown_bytes)} meanwhile"
    )
    then = " The kernel killed the program, and no step was seen to end before that." if kill else ""
    sure = died or filling.grown_bytes >= SURE_SHARE * free
    return Found(
        certainty=Certainty.CERTAIN if sure and planned is not None else Certainty.LIKELY,
        summary=f"The shuffle buffer{at} keeps {filling.kept:,} elements{needs}; {format_size(free)} were free.{then}",
        evidence=tuple(_evidence(filling, kill)),
        actions=(
            f"shuffle before the decoding{at}: file names and records are small",
            f"or make the buffer smaller: {_fitting(filling)}",
        ),
        where=place,
        details={"planned_bytes": planned, "free_bytes": free, "elements": filling.kept},
    )


def _fitting(filling: ShuffleBuffer) -> str:
    if filling.element_bytes is None:
        return "a few hundred elements"
    fits = int(filling.free_bytes * 0.5 / filling.element_bytes)
    return f"{fits:,} elements take half of what is free" if fits else "one element takes more than half of what was free"


def _evidence(filling: ShuffleBuffer, kill: MemoryKill | None) -> list[Evidence]:
    seconds = filling.latest.at - filling.before.at
    found: list[Evidence] = []
    if filling.element_bytes is not None:
        total = format_size(filling.planned_bytes or 0)
        claim = f"one element has {format_size(filling.element_bytes)}; the buffer keeps {filling.kept:,}: {total}"
        found.append(Evidence(claim, filling.planned_bytes, filling.free_bytes, (filling.stage,)))
    else:
        found.append(Evidence(f"the buffer keeps {filling.kept:,} elements", filling.kept, None, (filling.stage,)))
    grown = f"memory has grown by {format_size(filling.grown_bytes)} in {seconds:.0f} s, and no step was seen to end since"
    found.append(Evidence(grown, filling.grown_bytes, filling.free_bytes, filling.hosts))
    events: list[Event] = [event for event in (kill.spoke, kill.counted) if event is not None] if kill else []
    if events:
        found.append(Evidence("the kernel killed it for want of memory", None, None, tuple(events)))
    return found
