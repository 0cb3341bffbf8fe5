"""A large shuffle buffer is filled before the first step: slow, not stuck.

What it is
----------
`shuffle(buffer_size)` gives nothing until its buffer is full. Where the elements are costly to make (decoded and augmented
pictures), tens of thousands of them take minutes, in which the program seems to hang. A shuffle that is started anew with
each epoch fills its buffer anew each time.

How we know
-----------
TensorFlow's own measurement of the pipeline shows the buffer growing while no batch has come out of it, and how fast. The
time that the whole buffer takes at that speed is beyond the limit below.

When this is wrong
------------------
If the elements before the buffer become cheaper on the way, it is done sooner than said.

What to do
----------
Shuffle what is small and cheap: the file names or the raw records, before they are decoded. Then a small buffer behind the
decoding is enough, or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.diagnosis.pipelines import Pipeline, StageWork, read_pipelines
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import FrameworkLoaded, PipelineMeasured, ProbeFailed, ProcessEnded, StepsEnded
from unstall.journal.reader import Journal

LONG_FILL_S = 35.0  # a buffer that is full sooner is worth its time
SEEN_FOR_S = 12.0  # before its speed is believed
MIN_SHARE = 0.25  # of the time since, once training runs: below, the wait has been made up for
STILL_FILLING_S = 45.0  # the last measurement is not older than this


@dataclass(frozen=True)
class Fill:
    """A buffer that was seen filling. `seconds` is how long for, at least."""

    shuffle: StageWork
    target: int
    seconds: float
    is_over: bool
    began: float
    events: tuple[PipelineMeasured, ...]
    source: StageWork | None  # the stage before it that worked longest

    @property
    def total_s(self) -> float:
        """What the whole buffer takes."""
        return self.seconds if self.is_over or not self.shuffle.buffered else self.seconds * self.target / self.shuffle.buffered


def examine(journal: Journal) -> Verdict:
    every = [*read_pipelines(journal), *read_pipelines(journal, "validate")]
    if not every:
        return _not_seen(journal)
    fills = [fill for pipeline in every if (fill := _fill(journal, pipeline)) is not None]
    long = [fill for fill in fills if fill.total_s >= LONG_FILL_S and fill.seconds >= SEEN_FOR_S]
    if not long:
        return Clear("no shuffle buffer takes long to fill")
    now = next((fill for fill in reversed(long) if not fill.is_over), None)
    if now is not None:
        return _found(now, long)
    spent, elapsed = sum(fill.seconds for fill in long), journal.now - long[0].began
    if spent < MIN_SHARE * elapsed:
        return Clear(f"filling took {spent:.0f} of {elapsed:.0f} s")
    return _found(max(long, key=lambda fill: fill.seconds), long)


def _not_seen(journal: Journal) -> Verdict:
    if not any(event.name == "tensorflow" for event in journal.of(FrameworkLoaded)):
        return Clear("the program does not use tf.data")
    failed = next((event for event in journal.of(ProbeFailed) if event.probe == "pipeline measure"), None)
    return Unknown(f"TensorFlow's measurement of the pipeline ({failed.error})" if failed else "a tf.data pipeline that runs")


def _fill(journal: Journal, pipeline: Pipeline) -> Fill | None:
    filling = [event for event in pipeline.events if _filling(pipeline, event) is not None]
    if not filling:
        return None
    last = filling[-1]
    found = _filling(pipeline, last)
    assert found is not None
    shuffle, target = found
    after = [event for event in pipeline.events if event.at > last.at]
    stepped = any(group.at > last.at for group in journal.of(StepsEnded)) or journal.last(ProcessEnded) is not None
    is_over = bool(after) or stepped or journal.now - last.at > STILL_FILLING_S
    worked = pipeline.worked(last)
    before = worked[: [(stage.kind, stage.where) for stage in worked].index((shuffle.kind, shuffle.where))]
    source = max(before, key=lambda stage: stage.seconds, default=None)
    return Fill(shuffle, target, last.seconds, is_over, pipeline.began, tuple(filling), source)


def _filling(pipeline: Pipeline, event: PipelineMeasured) -> tuple[StageWork, int] | None:
    """The shuffle that fills, and how many elements it wants; None if batches come out, or it is full."""
    if not event.nodes or event.nodes[-1]["elements"]:
        return None
    for stage in reversed(pipeline.worked(event)):
        target = _target(stage)
        if stage.kind == "shuffle" and not stage.elements and target and 0 < stage.buffered < target:
            return stage, target
    return None


def _target(shuffle: StageWork) -> int | None:
    """The size of the buffer, or of the data where that is smaller."""
    size = shuffle.arguments.get("buffer_size", shuffle.arguments.get("argument_0"))
    try:
        wanted = int(size)  # type: ignore[arg-type]  # a tensor's value is noted as text
    except (TypeError, ValueError):
        return None
    elements = shuffle.arguments.get("elements")
    return min(wanted, elements) if isinstance(elements, int) and elements >= 0 else wanted


def _found(fill: Fill, fills: list[Fill]) -> Found:
    speed = fill.shuffle.buffered / fill.seconds
    place = f" at {fill.shuffle.where}" if fill.shuffle.where else ""
    if fill.is_over:
        again = f" It was seen {len(fills)} times." if len(fills) > 1 else ""
        summary = (
            f"The shuffle{place} was filling its buffer for {fill.seconds:.0f} s or longer: {fill.shuffle.buffered:,} of "
            f"{fill.target:,} elements by then.{again}"
        )
    else:
        left = (fill.target - fill.shuffle.buffered) / speed
        summary = (
            f"The shuffle{place} is filling its buffer: {fill.shuffle.buffered:,} of {fill.target:,} elements after "
            f"{fill.seconds:.0f} s. The next batch comes when it is full, in about {_time(left)}. It is slow, not stuck."
        )
    evidence = [
        Evidence(f"{speed:,.0f} elements a second came into the buffer, and no batch out of it", speed, None, fill.events),
        Evidence(f"at that speed the whole buffer takes {_time(fill.total_s)}", fill.total_s, LONG_FILL_S, fill.events),
    ]
    if fill.source is not None and fill.source.seconds > 0.3 * fill.seconds:
        at = f" ({fill.source.where})" if fill.source.where else ""
        claim = f"of the stages before it, {fill.source.words}{at} worked longest: {fill.source.seconds:.0f} s"
        evidence.append(Evidence(claim, fill.source.seconds, None, fill.events[-1:]))
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=tuple(evidence),
        actions=(
            "shuffle before the costly stage: the file names or the raw records, with a large buffer",
            f"or make the buffer smaller than {fill.target:,}: a few thousand are enough where the files are shuffled",
            *([] if fill.is_over else ["or wait: it goes on by itself"]),
        ),
        where=fill.shuffle.where,
        effect=Effect.SLOWS,
    )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
