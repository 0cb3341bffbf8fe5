"""Where the time went, how much memory was used, how the numbers behaved: sums over the journal, as plain data."""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.printed_output import is_loss_hooked, read_printed_losses
from unstall.diagnosis.probe_facts import read_facts
from unstall.diagnosis.stalls import find_current_stall
from unstall.journal.events import (
    CheckpointSaved,
    DeviceSampled,
    EpochEnded,
    HostSampled,
    OutputSkipped,
    PhaseEnded,
    ProgramStarted,
    ProgressPrinted,
    RunStarted,
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
    compiling = sum(group.busy_s for group in first)
    steps = sum(min(group.seconds, group.busy_s + (group.wait_s or 0.0)) for group in later)
    waiting = measure_input_seconds(later)
    compute = steps - (waiting or 0.0)
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
        "last_loss": losses[-1] if losses else None,
        "not_finite_since_step": min(bad, default=None),
        "is_finite_now": bool(known[-1].loss_is_finite) if known else None,
        "last_epoch": last_epoch.logs if last_epoch else {},
    }
