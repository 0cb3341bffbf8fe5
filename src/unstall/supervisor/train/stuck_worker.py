"""Ends a worker that is stuck, once waiting any longer is in vain: it is asked to end, and killed ten seconds later."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from unstall.diagnosis.stalls import find_current_stall
from unstall.journal.events import DeviceSampled, StallBegan
from unstall.journal.reader import Journal

if TYPE_CHECKING:
    from unstall.supervisor.train.worker_monitor import WorkerMonitor

KILL_AFTER_S = 10.0  # it is asked to end first
MIN_STALL_S = 20.0  # of a worker that idles where it has done so often what it does
MIN_FIRST_STALL_S = 120.0  # where it does it for the first time
FIRST_STEPS = 10  # of a worker: a device is given several before the first is waited for, so they seem to take no time
TIMES_LIMIT = 2.0  # the time after which it was looked at is given once more
MIN_BUSY_STALL_S = 900.0  # of one that computes, or whose device does: a first compilation may take long
BUSY_PERCENT = 10.0  # of a device
MIN_STALL_OUTSIDE_S = 300.0  # before the training, where data is read and a model is built


def is_hung(journal: Journal, stall: StallBegan, seconds: float) -> bool:
    """Whether waiting any longer is in vain. A stall is called by the run's own history; this is later."""
    now = find_current_stall(journal)
    devices = journal.since(DeviceSampled, stall.since)
    if (now is not None and now.is_busy) or any((device.busy_percent or 0.0) >= BUSY_PERCENT for device in devices):
        min_s = MIN_BUSY_STALL_S
    elif stall.phase in {"", "start", "between"}:
        min_s = MIN_STALL_OUTSIDE_S
    else:
        is_known = stall.usual_s is not None and not 0 <= stall.step < FIRST_STEPS
        min_s = MIN_STALL_S if is_known else MIN_FIRST_STALL_S
    return seconds > max(min_s, TIMES_LIMIT * stall.limit_s)


def end_if_stuck(monitor: WorkerMonitor, stall: StallBegan) -> None:
    if not monitor.watch.has_looked_closely:
        return
    seconds = time.time() - stall.since
    if is_hung(monitor.watch.journal, stall, seconds) and not monitor.waits_for_others(monitor):
        monitor.stop(monitor.describe_stuck_fault(stall, seconds), KILL_AFTER_S)
