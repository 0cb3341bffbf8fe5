"""How far the clocks of two workers are apart: in lock-step a step ends on all workers at the same moment.

Two runs that merely go at the same speed end their steps a constant time apart, too. They are told from workers in lock-step by
what disturbs them: a step that takes long on one takes long on all, so that the difference stays while the pace does not.

Workers of `unstall train` have also asked each other for the time when they met, which is exact to the length of a word's way.
But a clock may be set right while they train: so that counts where steps show nothing, or not yet.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from statistics import median

from unstall.journal.events import Event, StepsEnded, WorkerJoined
from unstall.journal.reader import Journal

MIN_STEPS = 12  # that both have told
GAP_S = 60.0  # between two ends that are told; within a longer one nothing can be said of the steps between
MIN_WANDERING_S = 0.01  # of the pace: one that is more even than that cannot show whether two are disturbed alike
LOCKED_SHARE = 0.2  # of that wandering, within which the difference of two workers in lock-step spreads


@dataclass(frozen=True)
class Offset:
    """`seconds` by which the second clock is ahead of the first, known within `error_s`."""

    seconds: float
    error_s: float
    steps: int  # by which it is known; none: by what they said when they met
    events: tuple[Event, ...]
    is_locked: bool  # they are of one training: they have met, or both are disturbed alike, as they wait in each step


def estimate_offset(one: Journal, other: Journal) -> Offset | None:
    """None where too few steps were told by both. Steps whose end both have told count most: the moments of others are taken in
    proportion, and are as uneven as the steps."""
    first, second = _ends(one), _ends(other)
    names = {event.last for event in first}
    pairs = [(event, at) for event in second if (at := _moment(first, event.last)) is not None]
    exact = _compared(first, [(event, at) for event, at in pairs if event.last in names])
    by_steps = exact if exact is not None and exact.is_locked else _compared(first, pairs)
    return by_steps if by_steps is not None and by_steps.is_locked else _when_they_met(one, other) or by_steps


def _when_they_met(one: Journal, other: Journal) -> Offset | None:
    """Each has asked the first worker for the time."""
    first, second = one.last(WorkerJoined), other.last(WorkerJoined)
    if first is None or second is None or first.coordinator != second.coordinator or first.worker == second.worker:
        return None
    ahead = [0.0 if joined.worker == 0 else joined.ahead_s for joined in (first, second)]
    if ahead[0] is None or ahead[1] is None:
        return None
    return Offset(ahead[1] - ahead[0], first.ahead_error_s + second.ahead_error_s, 0, (first, second), is_locked=True)


def _compared(first: list[StepsEnded], pairs: list[tuple[StepsEnded, float]]) -> Offset | None:
    if len(pairs) < MIN_STEPS:
        return None
    differences = [event.at - at for event, at in pairs]
    middle = median(differences)
    spread = _spread([difference - middle for difference in differences])
    wandering = _spread(_from_line([(event.last, at) for event, at in pairs]))
    step_s = median(event.seconds / max(1, event.last - event.first + 1) for event, _ in pairs)
    newest = pairs[-1][0]
    near = min(first, key=lambda event: abs(event.last - newest.last))
    is_locked = wandering >= MIN_WANDERING_S and spread <= LOCKED_SHARE * wandering
    return Offset(middle, max(spread, step_s), len(pairs), (near, newest), is_locked)


def _ends(journal: Journal) -> list[StepsEnded]:
    """Of one fit: a later one counts its steps anew."""
    ends: list[StepsEnded] = []
    for event in journal.of(StepsEnded):
        if event.phase != "train":
            continue
        if ends and event.last <= ends[-1].last:
            ends = []
        ends.append(event)
    return ends


def _moment(ends: list[StepsEnded], step: int) -> float | None:
    """When this worker ended that step; between two ends that it told, in proportion."""
    at = bisect.bisect_left(ends, step, key=lambda event: event.last)
    if at == len(ends):
        return None
    after = ends[at]
    if after.last == step:
        return after.at
    before = ends[at - 1] if at else None
    if before is None or after.at - before.at > GAP_S or after.seconds < 0.5 * (after.at - before.at):
        return None  # something else lay between them
    return before.at + (after.at - before.at) * (step - before.last) / (after.last - before.last)


def _from_line(points: list[tuple[int, float]]) -> list[float]:
    """How far each lies from the line through all of them."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    wide = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / wide if wide else 0.0
    return [y - mean_y - slope * (x - mean_x) for x, y in points]


def _spread(values: list[float]) -> float:
    """Within which nine of ten lie, around 0."""
    ordered = sorted(abs(value) for value in values)
    return ordered[int(0.9 * (len(ordered) - 1))]
