"""Where the time went, how fast steps are, how much memory was used, how the numbers behaved: sums over the journal."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from unstall.diagnosis.printed_output import is_loss_hooked, read_printed_losses
from unstall.diagnosis.probe_facts import read_facts
from unstall.diagnosis.stalls import find_current_stall
from unstall.journal.events import (
    CheckpointSaved,
    DeviceSampled,
    DevicesListed,
    EpochEnded,
    FitBegan,
    FunctionTraced,
    HostSampled,
    OutputSkipped,
    PhaseEnded,
    ProgramStarted,
    ProgressPrinted,
    RunStarted,
    SampleFailed,
    StepsEnded,
)
from unstall.journal.reader import Journal


def summarize_time(journal: Journal) -> dict[str, float | None]:
    """Seconds: input, compute, validation, checkpoint, compile, stuck, away, other, total. Input: None where not measured.

    Stuck is the time since the last sign of progress, if the journal ends in a stall. Away is the pause of a run that went on
    later: the journal of its newest program knows of none.
    """
    began = journal.first(RunStarted) or journal.first(ProgramStarted)
    total = max(0.0, journal.now - began.at) if began else 0.0
    train = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    first = [group for group in train if group.first == 0]
    later = [group for group in train if group.first > 0]
    validation = _phase_seconds(journal, "validate")
    checkpoint = sum(saved.seconds for saved in journal.of(CheckpointSaved))
    compiling = sum(measure_compile_seconds(group, journal.of(FunctionTraced)) for group in first)
    steps = sum(min(group.seconds, group.busy_s + (group.wait_s or 0.0)) for group in later)
    waiting = measure_input_seconds(later)
    compute = steps - (waiting or 0.0) + sum(group.busy_s for group in first) - compiling
    stall = find_current_stall(journal)
    stuck = min(stall.seconds, total) if stall else 0.0
    known = (waiting or 0.0) + compute + validation + checkpoint + compiling + stuck
    return {
        "input": waiting,
        "compute": max(0.0, compute),
        "validation": validation,
        "checkpoint": checkpoint,
        "compile": compiling,
        "stuck": stuck,
        "away": 0.0,
        "other": max(0.0, total - known),
        "total": total,
    }


def measure_compile_seconds(first: StepsEnded, traces: Iterable[FunctionTraced]) -> float:
    """Of the first step, all of it; of a first call that made many steps, the longest trace in it, where traces are seen."""
    if first.last == first.first:
        return first.busy_s
    began = first.at - first.seconds
    known = [event for event in traces if event.at <= first.at]
    before = {event.function: event.seconds for event in known if event.at < began}
    within = [event.seconds - before.get(event.function, 0.0) for event in known if event.at >= began]
    return min(first.busy_s, max(within)) if within else first.busy_s


def measure_input_seconds(groups: list[StepsEnded]) -> float | None:
    """The wait of the measured steps, scaled to all of them; None where none was measured."""
    measured = [group for group in groups if group.wait_s is not None and group.waited_steps]
    if not measured:
        return None
    total = 0.0
    for group in measured:
        steps = group.last - group.first + 1
        total += min(group.seconds, (group.wait_s or 0.0) / group.waited_steps * steps)
    return total


def _phase_seconds(journal: Journal, phase: str) -> float:
    return sum(event.seconds for event in journal.of(PhaseEnded) if event.phase == phase)


def summarize_memory(journal: Journal) -> dict[str, Any]:
    hosts = journal.of(HostSampled)
    devices: dict[int, dict[str, Any]] = {}
    for event in journal.of(DeviceSampled):
        known = devices.setdefault(event.index, {"name": event.name, "peak_bytes": 0, "total_bytes": event.total_bytes})
        known["peak_bytes"] = max(known["peak_bytes"], event.used_bytes)
    return {
        "host_peak_bytes": max((host.rss_bytes for host in hosts), default=None),
        "host_limit_bytes": _host_limit(hosts),
        "devices": [devices[index] for index in sorted(devices)],
    }


def _host_limit(hosts: list[HostSampled]) -> int | None:
    if not hosts:
        return None
    last = hosts[-1]
    return min(last.total_bytes, last.cgroup_limit_bytes) if last.cgroup_limit_bytes else last.total_bytes


def _losses(journal: Journal) -> list[float]:
    """In the order of time: those of steps, which are read now and then, and those of whole epochs."""
    of_steps = [(group.at, group.loss) for group in journal.of(StepsEnded) if group.phase == "train"]
    of_epochs = [(epoch.at, epoch.logs.get("loss")) for epoch in journal.of(EpochEnded)]
    return [loss for _, loss in sorted(of_steps + of_epochs, key=lambda pair: pair[0]) if loss is not None]


def summarize_printed(journal: Journal) -> dict[str, Any] | None:
    """What the program printed of its training, where no hook sees its steps or its loss; None where it printed nothing of it."""
    progress, losses = journal.last(ProgressPrinted), read_printed_losses(journal)
    are_steps_seen = any(group.phase == "train" for group in journal.of(StepsEnded))
    if (progress is None and not losses) or (are_steps_seen and is_loss_hooked(journal)):
        return None
    means = [event.mean for event in losses if event.mean is not None]
    return {
        "stream": progress.stream if progress else losses[-1].stream,
        "step": progress.step if progress else None,
        "steps_per_epoch": progress.of if progress else None,
        "epoch": progress.epoch if progress else None,
        "epochs": progress.epochs if progress else None,
        "steps_s": _printed_rate(journal),
        "loss_name": losses[-1].name if losses else None,
        "first_loss": means[0] if means else None,
        "last_loss": losses[-1].value if losses else None,
        "is_finite_now": losses[-1].is_finite if losses else None,
        "line": progress.line.strip() if progress else losses[-1].line,
        "skipped_bytes": sum(event.skipped_bytes for event in journal.of(OutputSkipped)),
    }


def _printed_rate(journal: Journal) -> float | None:
    """Steps in a second, over all that was printed."""
    events = journal.of(ProgressPrinted)
    events = [event for event in events if event.style == events[-1].style and event.step is not None]
    if len(events) < 2 or events[-1].at - events[0].at < 1.0:
        return None
    steps = events[-1].steps - events[0].steps
    return steps / (events[-1].at - events[0].at) if steps > 0 else None


def summarize_numerics(journal: Journal) -> dict[str, Any]:
    train = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    losses = _losses(journal)
    known = [group for group in train if group.loss_is_finite is not None]
    bad = [group.first for group in known if not group.loss_is_finite]
    bad += [int(seen.facts["step"]) for seen in read_facts(journal, "not_finite")]  # looked at more closely than groups of steps
    last_epoch = journal.last(EpochEnded)
    return {
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if len(losses) > 1 else None,  # one reading does not say how it went on
        "not_finite_since_step": min(bad, default=None),
        "is_finite_now": bool(known[-1].loss_is_finite) if known else None,
        "last_epoch": last_epoch.logs if last_epoch else {},
    }


# --- speed ---


MIN_STEPS = 3  # after the first, which is also compiled
MAX_GROUPS = 50  # the newest: what was slow an hour ago is not the speed of now


def measure_speed(journal: Journal) -> dict[str, Any] | None:
    """Seconds of a step, an epoch and the run, with the shares of a step; None where too few steps were seen.

    `faster_without_waiting` is measured: how many times as many steps there would be if no step had to wait for its input.
    """
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train" and group.first > 0][-MAX_GROUPS:]
    count = sum(group.last - group.first + 1 for group in groups)
    if count < MIN_STEPS:
        return None
    seconds = sum(group.seconds for group in groups)
    waiting = measure_input_seconds(groups)
    inside = min(seconds, sum(min(group.seconds, group.busy_s + (group.wait_s or 0.0)) for group in groups))
    computing = max(0.0, inside - (waiting or 0.0))
    step_s = seconds / count
    fit = journal.last(FitBegan)
    epoch_s = _epoch_s(journal, step_s, fit)
    epochs = fit.epochs if fit else None
    done = groups[-1].last + 1
    total = epochs * fit.steps_per_epoch if fit and epochs and fit.steps_per_epoch else None
    return {
        "step_s": step_s,
        "steps": count,
        "compute_fraction": computing / seconds if seconds else None,
        "input_fraction": waiting / seconds if waiting is not None and seconds else None,
        "epoch_s": epoch_s,
        "run_s": epoch_s * epochs if epoch_s is not None and epochs else None,
        "left_s": epoch_s * epochs * max(0, total - done) / total if epoch_s is not None and epochs and total else None,
        "faster_without_waiting": seconds / (seconds - waiting) if waiting and waiting < seconds else None,
        **_cores(journal, groups),
        "accelerator": _accelerator(journal),
    }


def _epoch_s(journal: Journal, step_s: float, fit: FitBegan | None) -> float | None:
    """As the last epochs took, validation included; of a first one by its steps alone."""
    ended = [epoch.seconds for epoch in journal.of(EpochEnded) if epoch.seconds > 0]
    if len(ended) > 1:
        return statistics.median(ended[1:][-5:])  # the first compiles
    return step_s * fit.steps_per_epoch if fit and fit.steps_per_epoch else None


def _cores(journal: Journal, groups: list[StepsEnded]) -> dict[str, float | None]:
    """Over the time of these steps. Queued: threads that were ready to run, and for which there was no core."""
    began, ended = groups[0].at - groups[0].seconds, groups[-1].at
    during = [host for host in journal.of(HostSampled) if began < host.at <= ended + 1.0 and host.interval_s > 0]
    total = sum(host.interval_s for host in during)
    if not during or total <= 0:
        return {"cores_used": None, "cores_usable": None, "cores_queued": None}
    return {
        "cores_used": sum(host.cpu_cores * host.interval_s for host in during) / total,
        "cores_usable": during[-1].usable_cores or None,
        "cores_queued": sum(host.queued_cores * host.interval_s for host in during) / total,
    }


def _accelerator(journal: Journal) -> str:
    """used | unused (one is there, and the weights lie elsewhere) | none | unknown: it could not be looked at."""
    listed = journal.last(DevicesListed)
    if listed is None:
        return "unknown"
    if listed.weights_on and "cpu" not in listed.weights_on.lower():
        return "used"
    if journal.last(DeviceSampled) is not None or any("cpu" not in device.lower() for device in listed.devices):
        return "unused" if listed.weights_on else "unknown"
    return "unknown" if any(failed.signal == "device" for failed in journal.of(SampleFailed)) else "none"
