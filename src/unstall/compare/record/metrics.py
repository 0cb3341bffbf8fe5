"""How a run went: time, memory, loss, score."""

from __future__ import annotations

import statistics
from typing import Any

from unstall.compare.record.journal_summary import JournalSummary, StepStatistics
from unstall.journal.events import EpochScored

MIN_GROUPS = 4  # of steps: of fewer nobody knows how much they differ
MIN_WINDOWS = 3
STEPS_OF_A_WINDOW = 1.1  # the least, so that each has seen the fullest moment of a step


def figures(taken: JournalSummary, batch: dict[str, Any], score: dict[str, Any]) -> dict[str, Any]:
    step_stats = taken.step_stats
    step_s = median_step_s(step_stats)
    size = batch.get("size")
    usual_bytes, unsure_bytes = usual_max(step_stats)
    return {
        "steps": step_stats.steps,
        "step_s": step_s,
        "step_spread_s": step_spread_s(step_stats),
        "parts": parts(step_stats),
        "parts_uncertainty_s": {name: mean.unsure for name, mean in step_stats.parts.items()},
        "totals_s": {name: round(seconds, 6) for name, seconds in step_stats.totals.items()},
        "is_input_measured": step_stats.is_input_measured,
        "device_peak_bytes": step_stats.allocator_peak_bytes or max(step_stats.device_peak_bytes.values(), default=None),
        "device_peak_is_of": _device_peak_is_of(step_stats),
        "device_limit_bytes": min(step_stats.device_limit_bytes.values(), default=None),
        "host_peak_bytes": step_stats.host_peak_bytes,
        "host_before_bytes": step_stats.host_before_bytes,
        "host_typical_bytes": usual_bytes,  # that it holds at the most of a step, of most steps
        "host_uncertainty_bytes": unsure_bytes,
        "compiler_bytes": step_stats.compiler_bytes,
        "images_per_s": size / step_s if size and step_s else None,
        "max_threads": step_stats.max_threads or None,  # as they were counted now and then: no setting, and never quite the same
        "cpu_cores": step_stats.cpu_core_seconds / step_stats.cpu_seconds if step_stats.cpu_seconds else None,
        "queued_cores": step_stats.queued_core_seconds / step_stats.cpu_seconds if step_stats.cpu_seconds else None,
        "crowded_share": _crowded(step_stats),
        "loss_first": _loss(step_stats, 0),
        "loss_last": _loss(step_stats, -1),
        "loss_min": step_stats.min_loss if step_stats.min_loss is not None else _least(step_stats),
        "not_finite_since_step": step_stats.not_finite_since_step,
        "last_epoch": step_stats.last_logs,
        "curve": step_stats.losses.pairs or step_stats.epoch_losses.pairs,
        "host_memory_curve": step_stats.host_memory.pairs,
        "device_memory_curve": step_stats.device_memory.pairs,
        "score": collect_scores(taken, score),
    }


def median_step_s(step_stats: StepStatistics) -> float | None:
    """Of the steps after the warm-up, each counted as often as it occurred."""
    ordered = sorted(step_stats.durations)
    half = sum(count for _, count in ordered) / 2
    passed = 0
    for seconds, count in ordered:
        passed += count
        if passed >= half:
            return seconds
    return None


def step_spread_s(step_stats: StepStatistics) -> float | None:
    """Half of what lies between the quarters of the steps: how much they differ among each other."""
    steps = sorted(seconds for seconds, _ in step_stats.durations)
    return (steps[3 * len(steps) // 4] - steps[len(steps) // 4]) / 2 if len(steps) >= MIN_GROUPS else None


def usual_max(step_stats: StepStatistics) -> tuple[float | None, float | None]:
    """The most that is held in a step, in the middle of all steps, and by how much steps differ in it.

    The one highest moment of a run is chance: what of the step before is still there, and where."""
    if len(step_stats.stepped_at) < 2:
        return None, None
    first, last = step_stats.stepped_at
    needed = STEPS_OF_A_WINDOW * (median_step_s(step_stats) or 0.0)
    peaks: list[int] = []
    most, seconds = 0, 0.0
    for began, length, held in step_stats.held:
        if not first <= began <= last:
            continue
        most, seconds = max(most, held), seconds + length
        if seconds >= needed:
            peaks.append(most)
            most, seconds = 0, 0.0
    if len(peaks) < MIN_WINDOWS:
        return None, None
    peaks.sort()
    return statistics.median(peaks), (peaks[3 * len(peaks) // 4] - peaks[len(peaks) // 4]) / 2


def parts(step_stats: StepStatistics) -> dict[str, float | None]:
    """Seconds of a step, by what they went into. Validation, checkpoints and compilation are shared out among all steps."""
    steps = step_stats.steps
    if not steps:
        return {}
    of_later = {name: mean.value for name, mean in step_stats.parts.items()}
    told = {
        "input": of_later["input"] if step_stats.is_input_measured else None,
        "compute": of_later["compute"],
        "validation": step_stats.totals["validation"] / steps,
        "checkpoint": step_stats.totals["checkpoint"] / steps,
        "compile": step_stats.totals["compile"] / steps,
        "other": of_later["between"],
    }
    return {name: None if seconds is None else round(seconds, 9) for name, seconds in told.items()}


def _crowded(step_stats: StepStatistics) -> float | None:
    """Of the time that its threads wanted to run while it trained, the share that they waited for a core."""
    busy, queued = step_stats.busy_and_queued
    return queued / (busy + queued) if busy + queued else None


def _device_peak_is_of(step_stats: StepStatistics) -> str:
    """the allocator: what tensors needed; the card: what was taken from it, which may be a pool that is not used up."""
    if step_stats.allocator_peak_bytes:
        return "the allocator"
    return "the card" if step_stats.device_peak_bytes else ""


def _loss(step_stats: StepStatistics, place: int) -> float | None:
    known = (step_stats.first_loss, step_stats.last_loss)[place]
    if known is not None:
        return known
    return step_stats.epoch_losses.pairs[place][1] if step_stats.epoch_losses.pairs else None


def _least(step_stats: StepStatistics) -> float | None:
    return min((loss for _, loss in step_stats.epoch_losses.pairs), default=None)


def collect_scores(taken: JournalSummary, kept: dict[str, Any]) -> dict[str, float | None]:
    """COCO's figures: `kept` ones of the best weights, else the best that the journal tells."""
    best = next((event for event in reversed(taken.of(EpochScored)) if event.is_best), taken.last(EpochScored))
    known = kept or (dict(best.figures) if best is not None else {})
    return {str(name): value for name, value in known.items() if value is None or isinstance(value, int | float)}
