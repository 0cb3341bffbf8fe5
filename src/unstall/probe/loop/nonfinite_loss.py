"""The step in which the loss first was not finite. The losses of the last steps are kept unread; one is read now and then.

Only when that one is not finite are the others read, to find the first. Reading waits for the device, so it is done seldom,
and with a loss that is a step old.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.loop.losses import newest_ready

READ_EVERY_S = 0.5
EACH_UP_TO = 12  # the first steps are read one by one
MAX_KEPT = 4000


class LossWatch:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.on_broken: list[Callable[[], None]] = []
        self._reset()

    def _reset(self) -> None:
        self._kept: deque[tuple[int, Any]] = deque(maxlen=MAX_KEPT)
        self._due = 0.0
        self._broken = False
        self._last_good: Optional[tuple[int, float]] = None

    def fit_began(self, model: Any) -> None:
        self._reset()

    def step_ended(self, model: Any, done: int) -> None:
        if self._broken:
            return
        losses = self.probe.last_losses
        for step, loss in enumerate(losses, done - len(losses) + 1):
            if loss is not None:
                self._kept.append((step, loss))
        if not self._kept:
            return
        now = time.monotonic()
        if now < self._due and done > EACH_UP_TO:
            return
        newest = newest_ready([loss for _, loss in self._kept])
        if len(self._kept) > 1 and newest is not None:
            self._due = now + READ_EVERY_S
            self._look(newest)

    def fit_ended(self) -> None:
        """The losses that nobody has read yet."""
        if not self._broken and self._kept:
            self._look(newest=len(self._kept) - 1)

    def _look(self, newest: int) -> None:
        step, loss = self._kept[newest]
        value = _value(loss)
        if value is None or math.isfinite(value):
            if value is not None:
                self._last_good = (step, value)
            for _ in range(newest + 1):
                self._kept.popleft()
            return
        self._broken = True
        exact = len(self._kept) < MAX_KEPT
        for index in range(newest + 1):
            step, loss = self._kept[index]
            found = _value(loss)
            if found is not None and not math.isfinite(found):
                value = found
                break
            if found is not None:
                self._last_good = (step, found)
        self._kept.clear()
        self._tell(step, value, exact)

    def _tell(self, step: int, value: float, exact: bool) -> None:
        good = self._last_good
        facts = {
            "kind": "not_finite",
            "step": step - 1,  # counted from 0, as steps are told everywhere
            "exact": exact,
            "value": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf",
            "last_step": good[0] - 1 if good else None,
            "last_loss": good[1] if good else None,
        }
        self.probe.emit(LoopSeen(at=time.time(), facts=facts))
        for told in self.on_broken:
            told()


def _value(loss: Any) -> Optional[float]:
    return as_number(loss() if callable(loss) and not hasattr(loss, "dtype") else loss)


def loss_watch_of(probe: Probe) -> LossWatch:
    watch: Optional[LossWatch] = probe.extras.get("loss watch")
    if watch is None:
        watch = probe.extras["loss watch"] = LossWatch(probe)
        probe.on_fit.append(watch.fit_began)
        probe.on_each_step.append(watch.step_ended)
        probe.on_fit_end.append(watch.fit_ended)
    return watch
