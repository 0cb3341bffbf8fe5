"""Which of several workers the others wait for, when none of them gets on; and which of several that ended was the first to fail.

Workers that share a step all stand still when one does. Pure functions of what was seen of each: its process, its pulse, its
stack. Where nothing tells them apart, nobody is named. Standard library only.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unstall.base import exit_codes
from unstall.diagnosis.workers.activity import ALONE_PHASES
from unstall.diagnosis.workers.snapshot import WorkerSnapshot

STOPPED_STATES = ("T", "t")  # of a process, as the kernel calls them: by a signal, or by a debugger
# Frames in which a worker waits for the others: for the numbers of a step, for a message, for them to come.
WAITING_BEFORE = (  # as they were called when journals of earlier versions were written
    ("unstall/training/step.py", "read"),
    ("unstall/backends/stepping_jax_shared.py", ""),
    ("unstall/scale/company.py", ""),
    ("unstall/scale/rendezvous.py", ""),
    ("unstall/training/step/train_step_jax_distributed.py", ""),
)
WAITING = (
    ("unstall/training/step/step.py", "read"),
    ("unstall/training/step/train_step_jax.py", "__call__"),
    ("unstall/training/step/train_step_jax.py", "exchange_requests"),
    ("unstall/training/step/train_step_jax.py", "take_over"),
    ("unstall/training/distributed/collectives.py", ""),
    ("unstall/training/distributed/rendezvous.py", ""),
    ("unstall/training/distributed/startup.py", ""),
)


@dataclass(frozen=True)
class Look:
    """What was seen of one worker, at about the same time as of the others."""

    worker: int
    state: str = ""  # of its process: R, S, D, T, …; empty: it could not be asked
    phase: str = ""  # of its pulse
    steps_done: int = 0
    silent_s: float = 0.0  # since its pulse beat last
    waits_for_input: bool = False
    is_busy: bool = False  # it uses the CPU, or waits for a core
    waits_for_others: bool | None = None  # by its stack; None: nobody has seen it


@dataclass(frozen=True)
class Suspect:
    worker: int
    how: str  # stopped | stands still
    why: str  # what tells it apart from the others, in words


def find_stopped(looks: Sequence[Look]) -> Suspect | None:
    """One that a signal has stopped: it shows at once, and nothing but a signal lets it go on."""
    for look in looks:
        if look.state in STOPPED_STATES:
            return Suspect(look.worker, "stopped", "its process is stopped, by a signal or a debugger")
    return None


def find_awaited(looks: Sequence[Look]) -> Suspect | None:
    """The one that the others wait for, of workers that all stand still; None: nothing tells them apart. One that computes, or
    waits for a core, does not stand still: it may be compiling."""
    if len(looks) < 2 or any(look.is_busy for look in looks):
        return None
    for is_odd, why in _SIGNS:
        odd = [look for look in looks if is_odd(look, looks)]
        if len(odd) == 1:
            return Suspect(odd[0].worker, "stands still", why)
    return find_stopped(looks)


Sign = Callable[[Look, Sequence[Look]], bool]
# The plainest first. Each must be true of one worker alone.
_SIGNS: tuple[tuple[Sign, str], ...] = (
    (lambda look, all_: look.state in STOPPED_STATES, "its process is stopped, by a signal or a debugger"),
    (lambda look, all_: look.state == "D", "the kernel keeps it waiting for a disk or a device"),
    (lambda look, all_: look.waits_for_input, "it waits for its input, and the others do not"),
    (
        lambda look, all_: not look.waits_for_others and all(each.waits_for_others for each in all_ if each is not look),
        "the others wait for it, and it is elsewhere",
    ),
    (
        lambda look, all_: all(each.steps_done > look.steps_done for each in all_ if each is not look),
        "it has made fewer steps than the others",
    ),
)


def is_waiting(frames: Sequence[tuple[str, str]]) -> bool:
    """Whether a stack, (file, function) from the innermost on, is that of a worker that waits for others."""
    called = [(file, function.rpartition(".")[2]) for file, function in frames]
    return any(part in file and name in {"", function} for file, function in called for part, name in (*WAITING, *WAITING_BEFORE))


# --- endings ---

BY_OTHERS = frozenset({exit_codes.OTHERS_LOST})
ALIKE = frozenset(
    {exit_codes.NOT_FINITE, exit_codes.DIVERGED, exit_codes.DONE, exit_codes.NOT_KEPT}
)  # how all end at the same step


@dataclass(frozen=True)
class End:
    worker: int
    at: float  # wall clock
    exit_code: int | None = None
    signal: int | None = None
    is_our_doing: bool = False  # it was asked to end, or ended, by whoever watches it


def find_first_failure(ends: Sequence[End]) -> int:
    """The worker whose end made the others end; of several that nothing tells apart, the first."""
    return min(ends, key=_blame).worker


def _blame(end: End) -> tuple[int, float, int]:
    if end.is_our_doing or end.exit_code == exit_codes.DONE:
        return 5, end.at, end.worker
    if end.exit_code in {*BY_OTHERS, exit_codes.NOT_KEPT}:  # only the first worker keeps anything: it tells how all of it ended
        return 4, end.at, end.worker
    if end.signal == signal.SIGABRT:  # so a framework ends a process that has lost another
        return 3, end.at, end.worker
    if end.exit_code == exit_codes.INTERRUPTED:
        return 2, end.at, end.worker
    if end.exit_code in ALIKE:
        return 1, 0.0, end.worker
    return 0, end.at, end.worker


# Which worker holds the others, from sightings alone: quickly, of very many, and before any stack is read.


SILENT_S = 10.0  # the watcher of a program that stands still, and of one that moves, writes more often
LOOKED_AT_S = 12.0  # after so long in a stall a watcher has taken the stacks and said what it knows
MAX_SHARE = 0.5  # of the workers, that can hold the rest: if more look like it, nothing can be said
MAX_SILENT_SHARE = 0.02  # the same for what is told by silence alone, which many watchers on busy machines may keep; at least one


@dataclass(frozen=True)
class Blocker:
    snapshot: WorkerSnapshot
    kind: str  # left | ended | elsewhere (its watcher names a cause) | silent | still (its watcher names none) | behind
    words: str


@dataclass(frozen=True)
class Blockage:
    holders: tuple[Blocker, ...]
    held: int  # workers that wait


def find_blockage(workers: Sequence[WorkerSnapshot], now: float) -> Blockage | None:
    """None while nobody waits, and where it cannot be told. `now` is by the clock of `heard_at`."""
    going = [worker for worker in workers if not worker.ended]
    stalled = [worker for worker in going if worker.stall is not None]
    waiting = [worker for worker in stalled if worker.waits_for_others]
    if not waiting or len(workers) < 2:
        return None
    max_silent = max(1.0, MAX_SILENT_SHARE * len(workers))
    ways = (
        (_gone(workers), MAX_SHARE * len(workers)),
        (_elsewhere(stalled), MAX_SHARE * len(workers)),
        (_silent(going, now), max_silent),
        (_still(stalled), max_silent),
        (_behind(stalled), max_silent),
    )
    for holders, most in ways:
        if holders and len(holders) <= most:
            return Blockage(tuple(holders), len(waiting))
    return None


def _gone(workers: Sequence[WorkerSnapshot]) -> list[Blocker]:
    bad = sorted((worker for worker in workers if worker.ended in {"failed", "killed"}), key=lambda worker: worker.ended_at)
    if bad:
        return [Blocker(worker, "left", f"{_after(worker)}{worker.ended}") for worker in bad]
    done = [worker for worker in workers if worker.ended == "done"]
    return [Blocker(worker, "ended", f"{_after(worker)}ended in order") for worker in done]


def _after(worker: WorkerSnapshot) -> str:
    return f"after step {worker.step:,} it has " if worker.step is not None else "it has "


def _silent(going: Sequence[WorkerSnapshot], now: float) -> list[Blocker]:
    quiet = [worker for worker in going if now - worker.heard_at >= SILENT_S + worker.late_s and not worker.waits_for_others]
    return [Blocker(worker, "silent", f"nothing was heard of it for {now - worker.heard_at:.0f} s") for worker in quiet]


def _elsewhere(stalled: Sequence[WorkerSnapshot]) -> list[Blocker]:
    """Those whose watcher has named another cause than waiting."""
    named = [
        (worker, *next(iter(worker.verdicts.items()))) for worker in stalled if worker.verdicts and not worker.waits_for_others
    ]
    return [Blocker(worker, "elsewhere", f"{cause}{f' at {place}' if place else ''}") for worker, cause, place in named]


def _still(stalled: Sequence[WorkerSnapshot]) -> list[Blocker]:
    """Those whose watcher has named nothing, in the time that it takes to look."""
    unnamed = [worker for worker in stalled if not worker.verdicts and worker.stall is not None]
    looked_at = [worker for worker in unnamed if worker.stall and worker.last_at - worker.stall.since >= LOOKED_AT_S]
    words = "it stands still{}, and not in a collective operation"
    return [Blocker(worker, "still", words.format(_in_phase(worker))) for worker in looked_at]


def _in_phase(worker: WorkerSnapshot) -> str:
    phase = worker.stall.phase if worker.stall else ""
    return " while it saves" if phase == "save" else " while it evaluates" if phase in ALONE_PHASES else ""


def _behind(stalled: Sequence[WorkerSnapshot]) -> list[Blocker]:
    """Those that stand in an earlier step than all the others, when each has said that it waits."""
    if not all(worker.waits_for_others for worker in stalled):
        return []
    steps = {id(worker): worker.stall.step for worker in stalled if worker.stall is not None and worker.stall.step >= 0}
    if len(steps) < len(stalled) or len(set(steps.values())) < 2:
        return []
    least = min(steps.values())
    return [
        Blocker(worker, "behind", f"it is in step {least:,}, the others are further")
        for worker in stalled
        if steps[id(worker)] == least
    ]
