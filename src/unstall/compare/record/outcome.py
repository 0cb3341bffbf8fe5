"""What was run, when, and how it ended."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from unstall.base.exit_codes import INTERRUPTED
from unstall.compare.record.journal_summary import JournalSummary, StepStatistics
from unstall.journal.events import (
    TERMINATION_SIGNALS,
    CircumstancesSeen,
    EpochScored,
    ErrorRaised,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    RunStarted,
    SignalSent,
    SourcesCopied,
    StallBegan,
    StallEnded,
    VerdictReached,
)
from unstall.journal.run_folder import RunFolder
from unstall.sensors.environment import find_script

FRESH_S = 60.0  # a journal that was written to so lately may be that of a run which goes on


def record_run(folder: RunFolder, taken: JournalSummary) -> dict[str, Any]:
    started, program, ended = taken.first(RunStarted), taken.first(ProgramStarted), taken.last(ProcessEnded)
    command = started.command if started else program.argv if program else []
    where = started.folder if started else ""
    began = started.at if started else taken.began_at
    last = ended.at if ended else taken.last_at
    return {
        "name": folder.name,
        "path": str(folder.path),
        "mode": started.mode if started else "",
        "script": _script(taken, command, where),
        "command": command,
        "folder": where,
        "began_at": began,
        "ended_at": last if ended else None,
        "seconds": max(0.0, last - began) if last is not None and began is not None else None,
        "outcome": record_outcome(taken),
        "exit_code": ended.exit_code if ended else None,
        "signal": ended.signal if ended else None,
        "cause": find_cause(folder, taken),
        "error": _error(taken),
        "unstall": started.version if started else "",
    }


def _script(taken: JournalSummary, command: list[str], folder: str) -> str:
    seen, copied = taken.first(CircumstancesSeen), taken.last(SourcesCopied)
    if seen is not None and seen.script:
        return seen.script
    if copied is not None and copied.script:
        return str(Path(copied.folder, copied.script))
    return find_script(command, folder)


def record_outcome(taken: JournalSummary) -> str:
    """done | failed | stuck | interrupted | running | unknown. Where nobody saw how it ended, it is not called done."""
    if taken.last_at is None:
        return "unknown"  # nothing of its journal could be read
    ended = taken.last(ProcessEnded)
    if ended is None:
        return _without_end(taken)
    if ended.exit_code == 0 and not (_stood_still(taken, ended.at) and _was_interrupted(taken, ended)):
        return "done"
    if ended.stopped_by_us or _stood_still(taken, ended.at):
        return "stuck"
    if _was_interrupted(taken, ended):
        return "interrupted"
    if ended.exit_code is None and ended.signal is None:  # the watcher was not its parent
        if _fatal(taken) is not None:
            return "failed"
        return "done" if taken.last(ProgramEnded) is not None else "interrupted"
    return "failed"


def _without_end(taken: JournalSummary) -> str:
    if _fatal(taken) is not None:
        return "failed"
    started, program = taken.last(RunStarted), taken.last(ProgramStarted)
    pid = started.pid if started else program.pid if program else 0
    is_fresh = taken.last_at is not None and time.time() - taken.last_at < FRESH_S
    if is_fresh and pid and Path(f"/proc/{pid}").exists():
        return "running"
    return "stuck" if _stood_still(taken, taken.last_at or 0.0) else "interrupted"


def _stood_still(taken: JournalSummary, at: float) -> bool:
    """A stall that lasted to the end, and is more than a guess."""
    began, over = taken.last(StallBegan), taken.last(StallEnded)
    return began is not None and began.sure and (over is None or over.at < began.at) and began.at <= at


def _was_interrupted(taken: JournalSummary, ended: ProcessEnded) -> bool:
    started, fatal = taken.last(RunStarted), _fatal(taken)
    if started is not None and started.mode == "train" and ended.exit_code == INTERRUPTED:
        return True
    if fatal is not None and fatal.kind == "KeyboardInterrupt":
        return True
    was_asked = any(event.asks_for_the_end for event in taken.of(SignalSent))
    return ended.signal in TERMINATION_SIGNALS or was_asked


def _fatal(taken: JournalSummary) -> ErrorRaised | None:
    fatal = [error for error in taken.of(ErrorRaised) if error.fatal and error.thread in {"", "MainThread"}]
    return fatal[-1] if fatal else None


def _error(taken: JournalSummary) -> dict[str, Any] | None:
    fatal = _fatal(taken)
    return {"kind": fatal.kind, "message": fatal.message, "step": fatal.step, "phase": fatal.phase} if fatal else None


def find_cause(folder: RunFolder, taken: JournalSummary) -> str:
    """The first verdict of the final story; of a run without one, the last that was reached."""
    story = folder.read_story() or {}
    verdicts = story.get("verdicts")
    if isinstance(verdicts, list):
        first = verdicts[0] if verdicts else {}
        return str(first.get("cause", "")) if isinstance(first, dict) else ""
    reached = taken.last(VerdictReached)
    return reached.cause if reached else ""


# How a run went: time, memory, loss, score.


MIN_GROUPS = 4  # of steps: of fewer nobody knows how much they differ
MIN_WINDOWS = 3
STEPS_OF_A_WINDOW = 1.1  # the least, so that each has seen the fullest moment of a step


def record_figures(taken: JournalSummary, batch: dict[str, Any], score: dict[str, Any]) -> dict[str, Any]:
    step_stats = taken.step_stats
    step_s = compute_median_step_s(step_stats)
    size = batch.get("size")
    usual_bytes, unsure_bytes = compute_usual_max(step_stats)
    return {
        "steps": step_stats.steps,
        "step_s": step_s,
        "step_spread_s": compute_step_spread_s(step_stats),
        "parts": record_parts(step_stats),
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


def compute_median_step_s(step_stats: StepStatistics) -> float | None:
    """Of the steps after the warm-up, each counted as often as it occurred."""
    ordered = sorted(step_stats.durations)
    half = sum(count for _, count in ordered) / 2
    passed = 0
    for seconds, count in ordered:
        passed += count
        if passed >= half:
            return seconds
    return None


def compute_step_spread_s(step_stats: StepStatistics) -> float | None:
    """Half of what lies between the quarters of the steps: how much they differ among each other."""
    steps = sorted(seconds for seconds, _ in step_stats.durations)
    return (steps[3 * len(steps) // 4] - steps[len(steps) // 4]) / 2 if len(steps) >= MIN_GROUPS else None


def compute_usual_max(step_stats: StepStatistics) -> tuple[float | None, float | None]:
    """The most that is held in a step, in the middle of all steps, and by how much steps differ in it.

    The one highest moment of a run is chance: what of the step before is still there, and where."""
    if len(step_stats.stepped_at) < 2:
        return None, None
    first, last = step_stats.stepped_at
    needed = STEPS_OF_A_WINDOW * (compute_median_step_s(step_stats) or 0.0)
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


def record_parts(step_stats: StepStatistics) -> dict[str, float | None]:
    """Seconds of a step, by what they went into. Validation, checkpoints and compilation are shared out among all steps."""
    steps = step_stats.steps
    if not steps:
        return {}
    of_later = {name: mean.value for name, mean in step_stats.parts.items()}
    plain = {
        "input": of_later["input"] if step_stats.is_input_measured else None,
        "compute": of_later["compute"],
        "validation": step_stats.totals["validation"] / steps,
        "checkpoint": step_stats.totals["checkpoint"] / steps,
        "compile": step_stats.totals["compile"] / steps,
        "other": of_later["between"],
    }
    return {name: None if seconds is None else round(seconds, 9) for name, seconds in plain.items()}


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
