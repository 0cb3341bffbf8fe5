"""Which of several workers the others wait for, when none of them gets on; and which of several that ended was the first to fail.

Workers that share a step all stand still when one does. Pure functions of what was seen of each: its process, its pulse, its
stack. Where nothing tells them apart, nobody is named. Standard library only.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unstall.training import endings

STOPPED_STATES = ("T", "t")  # of a process, as the kernel calls them: by a signal, or by a debugger
# Frames in which a worker waits for the others: for the numbers of a step, for a message, for them to come.
WAITING = (
    ("unstall/training/step.py", "read"),
    ("unstall/backends/stepping_jax_shared.py", ""),
    ("unstall/scale/company.py", ""),
    ("unstall/scale/rendezvous.py", ""),
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
class Named:
    worker: int
    how: str  # stopped | stands still
    why: str  # what tells it apart from the others, in words


def stopped(looks: Sequence[Look]) -> Named | None:
    """One that a signal has stopped: it shows at once, and nothing but a signal lets it go on."""
    for look in looks:
        if look.state in STOPPED_STATES:
            return Named(look.worker, "stopped", "its process is stopped, by a signal or a debugger")
    return None


def held_up_by(looks: Sequence[Look]) -> Named | None:
    """The one that the others wait for, of workers that all stand still; None: nothing tells them apart. One that computes, or
    waits for a core, does not stand still: it may be compiling."""
    if len(looks) < 2 or any(look.is_busy for look in looks):
        return None
    for is_odd, why in _SIGNS:
        odd = [look for look in looks if is_odd(look, looks)]
        if len(odd) == 1:
            return Named(odd[0].worker, "stands still", why)
    return stopped(looks)


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
    return any(part in file and name in {"", function} for file, function in called for part, name in WAITING)


# --- endings ---

BY_OTHERS = frozenset({endings.OTHERS_LOST})
ALIKE = frozenset({endings.NOT_FINITE, endings.DIVERGED, endings.DONE, endings.NOT_KEPT})  # how all end at the same step


@dataclass(frozen=True)
class End:
    worker: int
    at: float  # wall clock
    exit_code: int | None = None
    signal: int | None = None
    is_our_doing: bool = False  # it was asked to end, or ended, by whoever watches it


def first_to_fail(ends: Sequence[End]) -> int:
    """The worker whose end made the others end; of several that nothing tells apart, the first."""
    return min(ends, key=_blame).worker


def _blame(end: End) -> tuple[int, float, int]:
    if end.is_our_doing or end.exit_code == endings.DONE:
        return 5, end.at, end.worker
    if end.exit_code in {*BY_OTHERS, endings.NOT_KEPT}:  # only the first worker keeps anything: it tells how all of it ended
        return 4, end.at, end.worker
    if end.signal == signal.SIGABRT:  # so a framework ends a process that has lost another
        return 3, end.at, end.worker
    if end.exit_code == endings.INTERRUPTED:
        return 2, end.at, end.worker
    if end.exit_code in ALIKE:
        return 1, 0.0, end.worker
    return 0, end.at, end.worker
