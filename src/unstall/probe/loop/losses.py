"""Losses that can be read without waiting: those of steps that the device has finished.

JAX runs tens of steps behind Python and can tell which values are there; the other frameworks cannot, and there a loss that is
one step old is taken to be.
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
from unstall.probe.loop.traces import TracedFunction

MAX_KEPT = 64  # scalars
READ_LOSS_EVERY_S = 0.1


def is_ready(value: Any) -> bool:
    tells, is_gone = getattr(value, "is_ready", None), getattr(value, "is_deleted", None)
    if callable(is_gone) and is_gone():  # given to a step of JAX that may use its memory for something else
        return True
    return bool(tells()) if callable(tells) else True


def find_newest_ready(values: Any) -> Optional[int]:
    """Index of the newest value but one that is there; of the only one, if there is only one."""
    for index in range(max(0, len(values) - 2), -1, -1):
        if is_ready(values[index]):
            return index
    return None


class RecentLosses:
    def __init__(self) -> None:
        self._kept: deque[Any] = deque(maxlen=MAX_KEPT)

    def clear(self) -> None:
        self._kept.clear()

    def add(self, loss: Any) -> None:
        self._kept.append(loss)

    def read(self) -> tuple[Optional[float], int]:
        """The newest that can be read without waiting, and how many steps ago it was made."""
        index = find_newest_ready(self._kept) if self._kept else None
        if index is None:
            return None, 0
        return as_number(self._kept[index]), len(self._kept) - 1 - index


class Losses:
    """Scalars read a while after they were made. At most ten a second, but the first as soon as there is another."""

    def __init__(self) -> None:
        self._waiting: Any = None
        self._due = 0.0
        self._sum = 0.0
        self._count = 0
        self._newest = 0.0

    def see(self, now: float, find: Callable[[], Any]) -> None:
        if now < self._due:
            return
        if self._waiting is not None and not is_ready(self._waiting):
            return
        if self._waiting is not None:
            value = as_number(self._waiting)
            if value is not None:
                self._sum += value
                self._count += 1
                self._newest = value
        is_first = self._waiting is None
        self._waiting = find()
        self._due = now if is_first and self._waiting is not None else now + READ_LOSS_EVERY_S

    def settle(self) -> None:
        """Reads the one that waits: the pass is over, and no newer one will come to make it due."""
        self._due = 0.0
        self.see(0.0, lambda: None)

    def take(self) -> Optional[float]:
        """The mean of what was read since the last time."""
        mean = self._sum / self._count if self._count else None
        self._sum, self._count = 0.0, 0
        return mean

    def take_last(self, last: Any) -> Optional[float]:
        """The loss of the last step, where the training is over; not finite if any that was read since the last time was not."""
        self.settle()
        self._waiting = last
        self.settle()
        mean = self.take()
        return self._newest if mean is not None and math.isfinite(mean) else mean


# The loss among what a step gave back.


_NONE = object()


def find_loss(result: Any, record: TracedFunction) -> Any:
    """The scalar that a step gave back: the one called a loss, else the first. Where it stands is found once."""
    result = select_first_replica(result)
    if record.loss_path is None:
        found = find_scalar(result)
        record.loss_path = found if found is not None else (_NONE,)
    try:
        for key in record.loss_path:
            if key is _NONE:
                return None
            result = select_first_replica(result[key])
    except (KeyError, IndexError, TypeError):
        record.loss_path = None  # it gives back something else this time
        return None
    return result


def is_float_scalar(value: Any) -> bool:
    if getattr(value, "shape", None) != ():
        return False
    dtype = getattr(value, "dtype", None)
    is_float = getattr(dtype, "is_floating", None)  # of TensorFlow; NumPy has a kind, and none for the short floats of JAX
    return bool(getattr(dtype, "kind", "") == "f" or "float" in str(dtype) if is_float is None else is_float)


def find_scalar(result: Any) -> Optional[tuple[Any, ...]]:
    """The way to it through dicts, lists and tuples: the total loss before others."""
    result = select_first_replica(result)
    if isinstance(result, dict):
        parts = sorted(result.items(), key=lambda item: ("loss" not in str(item[0]), "total" not in str(item[0])))
    elif isinstance(result, (list, tuple)):
        parts = list(enumerate(result))
    else:
        return () if isinstance(result, float) or is_float_scalar(result) else None
    for key, value in parts:
        found = find_scalar(value)
        if found is not None:
            return (key, *found)
    return None


def select_first_replica(value: Any) -> Any:
    """What a distribution strategy holds for each of its replicas, by that of the first; anything else as it is."""
    return value.values[0] if type(value).__name__ == "PerReplica" and value.values else value


# The step in which the loss first was not finite. The losses of the last steps are kept unread; one is read now and then.
#
# Only when that one is not finite are the others read, to find the first. Reading waits for the device, so it is done seldom,
# and with a loss that is a step old.


READ_EVERY_S = 0.5
EACH_UP_TO = 12  # the first steps are read one by one
MAX_KEPT_LOSSES = 4000


class LossWatch:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.on_broken: list[Callable[[], None]] = []
        self._reset()

    def _reset(self) -> None:
        self._kept: deque[tuple[int, Any]] = deque(maxlen=MAX_KEPT_LOSSES)
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
        newest = find_newest_ready([loss for _, loss in self._kept])
        if len(self._kept) > 1 and newest is not None:
            self._due = now + READ_EVERY_S
            self._look(newest)

    def fit_ended(self) -> None:
        """The losses that nobody has read yet, and that can be read without waiting."""
        newest = next((index for index in reversed(range(len(self._kept))) if is_ready(self._kept[index][1])), None)
        if not self._broken and newest is not None:
            self._look(newest)

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
        exact = len(self._kept) < MAX_KEPT_LOSSES
        for index in range(newest + 1):
            step, loss = self._kept[index]
            found = _value(loss)
            if found is not None and not math.isfinite(found):
                value = found
                break
            if found is not None:
                self._last_good = (step, found)
        self._kept.clear()
        self._report(step, value, exact)

    def _report(self, step: int, value: float, exact: bool) -> None:
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
        for result in self.on_broken:
            result()


def _value(loss: Any) -> Optional[float]:
    return as_number(loss() if callable(loss) and not hasattr(loss, "dtype") else loss)


def get_loss_watch(probe: Probe) -> LossWatch:
    watch: Optional[LossWatch] = probe.extras.get("loss watch")
    if watch is None:
        watch = probe.extras["loss watch"] = LossWatch(probe)
        probe.on_fit.append(watch.fit_began)
        probe.on_each_step.append(watch.step_ended)
        probe.on_fit_end.append(watch.fit_ended)
    return watch
