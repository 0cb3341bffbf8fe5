"""Beside the workers that this machine has of a run: they are watched until all have ended.

What shows only among several of them is in `several_workers.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from unstall.remedies.plan import Fault
from unstall.supervisor.launch import wait_for_any
from unstall.supervisor.train.worker_monitor import WorkerMonitor


class WorkerGroup:
    def __init__(self, monitors: Sequence[WorkerMonitor]) -> None:
        self.monitors = list(monitors)
        self.lead = self.monitors[0]
        self.stopped_for: Fault | None = None

    def wait(self, seconds: float) -> bool:
        """So long at most; whether any worker still runs."""
        wait_for_any([monitor.launched for monitor in self.monitors], seconds)
        return any(monitor.launched.ended is None for monitor in self.monitors)

    def look(self) -> None:
        for monitor in self.running():
            monitor.look()

    def finish(self) -> None:
        for monitor in self.monitors:
            monitor.finish()
        self.stopped_for = self.stopped_for or self.lead.stopped_for

    @property
    def blamed(self) -> WorkerMonitor:
        """The worker whose fault is treated."""
        return self.lead

    @property
    def is_done(self) -> bool:
        return all(monitor.is_done for monitor in self.monitors)

    @property
    def is_asked_to_end(self) -> bool:
        return any(monitor.launched.is_asked_to_end for monitor in self.monitors)

    def running(self) -> list[WorkerMonitor]:
        return [monitor for monitor in self.monitors if monitor.launched.ended is None]
