"""How a run went: time, memory, loss, score."""

from __future__ import annotations

import statistics
from typing import Any

from unstall.compare.record.journal_summary import JournalSummary, StepStatistics
from unstall.journal.events import EpochScored

FEW_GROUPS = 4  # of steps: of fewer nobody knows how much they differ
FEW_WINDOWS = 3
STEPS_OF_A_WINDOW = 1.1  # the least, so that each has seen the fullest moment of a step


def figures(taken: JournalSummary, batch: dict[str, Any], score: dict[str, Any]) -> dict[str, Any]:
    course = taken.course
    step_s = median_step_s(course)
    size = batch.get("size")
    usual_bytes, unsure_bytes = usual_most(course)
    return {
        "steps": course.steps,
        "step_s": step_s,
        "step_spread_s": step_spread_s(course),
        "parts": parts(course),
        "parts_unsure_s": {name: mean.unsure for name, mean in course.parts.items()},
        "totals_s": {name: round(seconds, 6) for name, seconds in course.totals.items()},
        "is_input_measured": course.is_input_measured,
        "device_peak_bytes": course.allocator_peak_bytes or max(course.device_peak_bytes.values(), default=None),
        "device_peak_is_of": _device_peak_is_of(course),
        "device_limit_bytes": min(course.device_limit_bytes.values(), default=None),
        "host_peak_bytes": course.host_peak_bytes,
        "host_before_bytes": course.host_before_bytes,
        "host_usual_bytes": usual_bytes,  # that it holds at the most of a step, of most steps
        "host_unsure_bytes": unsure_bytes,
        "compiler_bytes": course.compiler_bytes,
        "images_per_s": size / step_s if size and step_s else None,
        "most_threads": course.most_threads or None,  # as they were counted now and then: no setting, and never quite the same
        "cpu_cores": course.cpu_core_seconds / course.cpu_seconds if course.cpu_seconds else None,
        "queued_cores": course.queued_core_seconds / course.cpu_seconds if course.cpu_seconds else None,
        "crowded_share": _crowded(course),
        "loss_first": _loss(course, 0),
        "loss_last": _loss(course, -1),
        "loss_min": course.least_loss if course.least_loss is not None else _least(course),
        "not_finite_since_step": course.not_finite_since_step,
        "last_epoch": course.last_logs,
        "curve": course.losses.pairs or course.epoch_losses.pairs,
        "host_memory_curve": course.host_memory.pairs,
        "device_memory_curve": course.device_memory.pairs,
        "score": scored(taken, score),
    }


def median_step_s(course: StepStatistics) -> float | None:
    """Of the steps after the warm-up, each counted as often as it occurred."""
    ordered = sorted(course.durations)
    half = sum(count for _, count in ordered) / 2
    passed = 0
    for seconds, count in ordered:
        passed += count
        if passed >= half:
            return seconds
    return None


def step_spread_s(course: StepStatistics) -> float | None:
    """Half of what lies between the quarters of the steps: how much they differ among each other."""
    steps = sorted(seconds for seconds, _ in course.durations)
    return (steps[3 * len(steps) // 4] - steps[len(steps) // 4]) / 2 if len(steps) >= FEW_GROUPS else None


def usual_most(course: StepStatistics) -> tuple[float | None, float | None]:
    """The most that is held in a step, in the middle of all steps, and by how much steps differ in it.

    The one highest moment of a run is chance: what of the step before is still there, and where."""
    if len(course.stepped_at) < 2:
        return None, None
    first, last = course.stepped_at
    needed = STEPS_OF_A_WINDOW * (median_step_s(course) or 0.0)
    mosts: list[int] = []
    most, seconds = 0, 0.0
    for began, length, held in course.held:
        if not first <= began <= last:
            continue
        most, seconds = max(most, held), seconds + length
        if seconds >= needed:
            mosts.append(most)
            most, seconds = 0, 0.0
    if len(mosts) < FEW_WINDOWS:
        return None, None
    mosts.sort()
    return statistics.median(mosts), (mosts[3 * len(mosts) // 4] - mosts[len(mosts) // 4]) / 2


def parts(course: StepStatistics) -> dict[str, float | None]:
    """Seconds of a step, by what they went into. Validation, checkpoints and compilation are shared out among all steps."""
    steps = course.steps
    if not steps:
        return {}
    of_later = {name: mean.value for name, mean in course.parts.items()}
    told = {
        "input": of_later["input"] if course.is_input_measured else None,
        "compute": of_later["compute"],
        "validation": course.totals["validation"] / steps,
        "checkpoint": course.totals["checkpoint"] / steps,
        "compile": course.totals["compile"] / steps,
        "other": of_later["between"],
    }
    return {name: None if seconds is None else round(seconds, 9) for name, seconds in told.items()}


def _crowded(course: StepStatistics) -> float | None:
    """Of the time that its threads wanted to run while it trained, the share that they waited for a core."""
    busy, queued = course.busy_and_queued
    return queued / (busy + queued) if busy + queued else None


def _device_peak_is_of(course: StepStatistics) -> str:
    """the allocator: what tensors needed; the card: what was taken from it, which may be a pool that is not used up."""
    if course.allocator_peak_bytes:
        return "the allocator"
    return "the card" if course.device_peak_bytes else ""


def _loss(course: StepStatistics, place: int) -> float | None:
    known = (course.first_loss, course.last_loss)[place]
    if known is not None:
        return known
    return course.epoch_losses.pairs[place][1] if course.epoch_losses.pairs else None


def _least(course: StepStatistics) -> float | None:
    return min((loss for _, loss in course.epoch_losses.pairs), default=None)


def scored(taken: JournalSummary, kept: dict[str, Any]) -> dict[str, float | None]:
    """COCO's figures: `kept` ones of the best weights, else the best that the journal tells."""
    best = next((event for event in reversed(taken.of(EpochScored)) if event.is_best), taken.last(EpochScored))
    known = kept or (dict(best.figures) if best is not None else {})
    return {str(name): value for name, value in known.items() if value is None or isinstance(value, int | float)}
