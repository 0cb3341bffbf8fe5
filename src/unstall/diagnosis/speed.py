"""How fast a training goes, what takes the time of a step, and how long an epoch and the whole run will take."""

from __future__ import annotations

import statistics
from typing import Any

from unstall.diagnosis.run_summary import measure_input_seconds
from unstall.journal.events import (
    DeviceSampled,
    DevicesListed,
    EpochEnded,
    FitBegan,
    HostSampled,
    SampleFailed,
    StepsEnded,
)
from unstall.journal.reader import Journal

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
