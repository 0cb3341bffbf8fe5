"""Where a worker is: its step, what it does there, and its own line of code. From its own journal alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from unstall.diagnosis.errors.error_messages import find_innermost
from unstall.diagnosis.errors.fatal_error import find_user_line
from unstall.diagnosis.stalls import Stall, StuckThread, find_current_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.workers import cluster
from unstall.diagnosis.workers.clock_offset import estimate_offset
from unstall.diagnosis.workers.members import Member, RunGroup
from unstall.journal.events import (
    ErrorRaised,
    Event,
    PhaseBegan,
    PhaseEnded,
    ProcessEnded,
    ProgramEnded,
    RunStarted,
    SignalSent,
    StepsEnded,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, main_thread, select_user_frames

ALONE_PHASES = frozenset({"validate", "predict", "save"})  # what one worker rightly does while the others wait


class Activity(StrEnum):
    JOINS = "joins"  # waits for the others to come
    COLLECTIVE = "collective"  # waits in an operation that all must take part in
    STANDS = "stands"  # somewhere else, and does not move
    WORKS = "works"  # somewhere else, and moves or uses the CPU: slow rather than stuck
    UNSEEN = "unseen"  # makes no progress, and nobody could see where it is
    EVALUATES = "evaluates"  # or saves: a phase in which the others rightly wait
    TRAINS = "trains"
    STARTS = "starts"  # tells of no step yet
    ENDED = "ended"  # in order
    LEFT = "left"  # failed or was killed


WAITS = frozenset({Activity.JOINS, Activity.COLLECTIVE})
GONE = frozenset({Activity.ENDED, Activity.LEFT})


@dataclass(frozen=True)
class Place:
    doing: Activity
    step: int | None  # the one that it is in
    phase: str
    words: str  # what it does, after its name: 'waits in a collective of JAX at train.py:36'
    at: float  # since when, by the clock of its machine
    where: str | None  # its own file:line
    events: tuple[Event, ...]  # that show it

    @property
    def waits(self) -> bool:
        return self.doing in WAITS


def find_places(run_group: RunGroup) -> list[tuple[Member, Place]]:
    return [(member, find_place(member)) for member in run_group.members]


def compute_silent_s(run_group: RunGroup, member: Member) -> float:
    """For how long it has told nothing, while another of them did. A clock that is ahead or behind is allowed for."""
    others = [(other, estimate_offset(member.journal, other.journal)) for other in run_group.others(member)]
    ends = [other.journal.now - (known.seconds if known and known.is_locked else 0.0) for other, known in others]
    return max(0.0, max(ends, default=0.0) - member.journal.now)


def find_place(member: Member) -> Place:
    journal = member.journal
    stall = find_current_stall(journal)
    ended = _ended(journal, stall)
    if ended is not None:
        return ended
    if stall is not None:
        return _in_stall(journal, stall)
    return _moving(journal)


def _ended(journal: Journal, stall: Stall | None) -> Place | None:
    """A program that somebody ended because it stood still was where it stood."""
    ended = journal.last(ProcessEnded) or journal.last(ProgramEnded)
    started = journal.last(RunStarted)
    if ended is None or (started is not None and ended.at < started.at):
        return None
    was_asked = isinstance(ended, ProcessEnded) and (ended.stopped_by_us or journal.last(SignalSent) is not None)
    if was_asked and stall is not None:
        return None
    step, error = count_steps_done(journal), next((each for each in reversed(journal.of(ErrorRaised)) if each.fatal), None)
    after = f" after step {step:,}" if step is not None else ""
    code, signal = (ended.exit_code, ended.signal) if isinstance(ended, ProcessEnded) else (0, None)
    if signal is not None:
        return Place(Activity.LEFT, step, "", f"was killed by signal {signal}{after}", ended.at, None, (ended,))
    if code or error is not None:
        place = _error_place(journal, error)
        said = f": {find_innermost(error.kind, error.message).line}" if error else ""
        at = f" at {place}" if place else ""
        how = f" with exit code {code}" if code else ""
        return Place(
            Activity.LEFT,
            step,
            "",
            f"ended{how}{after}{at}{said}",
            ended.at,
            place,
            (ended,) if error is None else (error, ended),
        )
    return Place(Activity.ENDED, step, "", f"ended in order{after}", ended.at, None, (ended,))


def _error_place(journal: Journal, error: ErrorRaised | None) -> str | None:
    return find_user_line(error, find_program_folder(journal)) if error else None


def _in_stall(journal: Journal, stall: Stall) -> Place:
    began = stall.began
    step = began.step if began.step >= 0 else count_steps_done(journal)
    folder = find_program_folder(journal)
    # Who joins may look again and again whether the others are there: by the lines alone it has not moved.
    for still in [still for still in stall.still(strict=False) if select_user_frames(still.thread)]:
        joins = cluster.describe_join(still.thread)
        if joins:
            at = format_where(select_user_frames(still.thread)[0], folder)
            return Place(Activity.JOINS, step, began.phase, f"joins {joins} at {at}", began.since, at, still.samples)
    everywhere = [still for still in stall.still() if select_user_frames(still.thread)]
    for still in everywhere:
        collective = cluster.find_waiting_collective(stall, still)
        if collective:
            at = format_where(select_user_frames(still.thread)[0], folder)
            words = f"waits in a collective of {collective} at {at}"
            return Place(Activity.COLLECTIVE, step, began.phase, words, began.since, at, still.samples)
    return _elsewhere(journal, stall, step, everywhere)


def _elsewhere(journal: Journal, stall: Stall, step: int | None, standing: list[StuckThread]) -> Place:
    """Standing is only who stands at one line in all samples, and by the kernel's account, where there is no pulse."""
    began, folder = stall.began, find_program_folder(journal)
    main = next((still for still in standing if still.is_main and still.thread["name"] == "MainThread"), None)
    sample = stall.samples[-1] if stall.samples else None
    thread = main.thread if main else main_thread(sample) if sample else None
    if sample is None or thread is None:
        words = "makes no progress, and nobody could see where it is"
        return Place(Activity.UNSEEN, step, began.phase, words, began.since, None, (began,))
    users = select_user_frames(thread)
    at = format_where(users[0], folder) if users else None
    place = f" at {at}" if at else ""
    if stall.is_busy or main is None:
        how = "works" if stall.is_busy else "moves"
        return Place(Activity.WORKS, step, began.phase, how + place, began.since, at, (sample, *stall.hosts[-1:]))
    words = find_wait(thread, main.call) or ""
    text = f"waits for {words}{place}" if words else f"stands still{place}"
    return Place(Activity.STANDS, step, began.phase, text, began.since, at, main.samples)


def _moving(journal: Journal) -> Place:
    step, last = count_steps_done(journal), journal.last(StepsEnded)
    phase = _phase(journal)
    if phase is not None and phase.phase in ALONE_PHASES:
        what = "saves" if phase.phase == "save" else "evaluates"
        return Place(Activity.EVALUATES, step, phase.phase, what, phase.at, None, (phase,))
    if step is None:
        began = journal.first(RunStarted)
        events: tuple[Event, ...] = tuple(event for event in (began, *journal.all()[-1:]) if event is not None)
        return Place(Activity.STARTS, None, "", "tells of no step yet", began.at if began else journal.now, None, events)
    assert last is not None
    return Place(Activity.TRAINS, step, "train", f"trains, {step:,} steps done", last.at, None, (last,))


def _phase(journal: Journal) -> PhaseBegan | None:
    """The one that goes on."""
    began = journal.last(PhaseBegan)
    ended = journal.last(PhaseEnded)
    return began if began is not None and (ended is None or ended.at < began.at or ended.phase != began.phase) else None


def count_steps_done(journal: Journal) -> int | None:
    last = next((event for event in reversed(journal.of(StepsEnded)) if event.phase == "train"), None)
    return last.last + 1 if last else None
