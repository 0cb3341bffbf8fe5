"""How long callbacks of Keras take, each by itself; but only in a fit where they take a large part of the time together.

Until then a call of their list costs two looks at the clock. From then on the list is, for the time of a call, one of stand-ins
that hand everything on and time it; the callbacks themselves, and the list that the program made, stay as they are.

A callback that reads the loss waits for the device: that is the step's time, not the callback's. So the loss is read before,
where a small budget allows it, and only then a call is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Optional

from unstall.journal.events import CallbacksTimed
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.tracebacks import OWN
from unstall.probe.core.user_code import find_code_place, find_user_place

LONG_S = 0.001  # a call of the list that takes less is not even counted
SUSPICIOUS_SHARE = 0.2  # of the time since the first long call: from then on each callback is timed
SUSPICIOUS_S = 1.0
REPORT_INTERVAL_S = 5.0
MAX_ROWS = 50
EACH_BATCH = "on_train_batch_end"
OLDER_NAME = {EACH_BATCH: "on_batch_end"}  # which the framework's own method calls

if TYPE_CHECKING:  # Python 3.8 cannot make these when it runs
    Key = tuple[str, str, Optional[CodeType]]  # class, hook, code: two classes of a name are two


class CallbackTimes:
    """Of one fit at a time."""

    def __init__(self, probe: Any) -> None:
        self._probe = probe
        self.begin()

    def begin(self) -> None:
        """A fit begins."""
        self.is_timing = False
        self._since: Optional[float] = None
        self._spent_s = 0.0
        self._timed_since = 0.0
        self._reported_at = 0.0
        self._calls: dict[str, int] = {}
        self._rows: dict[Key, dict[str, Any]] = {}

    def took(self, seconds: float, aside_s: float, now: float) -> None:
        """A call of the whole list was long; `aside_s` of it belong to validations, predictions and saves, which count apart."""
        if self._probe.fit_depth != 1:
            return
        if self._since is None:
            self._since = now  # the first call may load and compile things
            return
        self._spent_s += max(0.0, seconds - aside_s)
        if self._spent_s >= SUSPICIOUS_S and self._spent_s >= SUSPICIOUS_SHARE * (now - self._since):
            self.is_timing = True
            self._timed_since = self._reported_at = now

    def call(self, hook: str, original: Callable[..., Any], callbacks: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the list's own method, and times each callback where that can be done."""
        shield = self._probe.shield
        stand_ins = shield.call("callback times", self._stand_ins, hook, callbacks, *args, **kwargs)
        if stand_ins is None:
            return original(callbacks, *args, **kwargs)
        listed = callbacks.callbacks
        callbacks.callbacks = stand_ins
        try:
            return original(callbacks, *args, **kwargs)
        finally:
            if callbacks.callbacks is stand_ins:
                callbacks.callbacks = listed
            shield.call("callback times", self.report)

    def _stand_ins(self, hook: str, callbacks: Any, number: Any, logs: Any = None) -> Optional[list[Any]]:
        listed = getattr(callbacks, "callbacks", None)
        if not isinstance(listed, list) or self._probe.fit_depth != 1:
            return None
        self._calls[hook] = self._calls.get(hook, 0) + 1
        if hook == EACH_BATCH and not self._probe.shield.within_budget("callback times: loss", _is_read, logs):
            return None
        return [_StandIn(callback, self, hook) for callback in listed]

    def timed(self, hook: str, callback: Any, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        aside_s, cpu, began = self._probe.aside_s, time.thread_time(), time.monotonic()
        try:
            return method(*args, **kwargs)
        finally:
            seconds, cpu_s = time.monotonic() - began, time.thread_time() - cpu
            aside_s = self._probe.aside_s - aside_s
            own_s = max(0.0, seconds - aside_s)
            self._probe.shield.call(
                "callback times", self._add, hook, callback, method, own_s, min(own_s, max(0.0, cpu_s - aside_s))
            )

    def _add(self, hook: str, callback: Any, method: Any, seconds: float, cpu_s: float) -> None:
        code = getattr(method, "__code__", None)
        key = (type(callback).__name__, hook, code)
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= MAX_ROWS or code is None or code.co_filename.startswith(OWN):
                return
            place = find_code_place(method) or find_code_place(getattr(callback, OLDER_NAME.get(hook, hook), None))
            row = {"name": key[0], "where": place, "hook": hook, "timed": 0, "seconds": 0.0, "longest_s": 0.0, "cpu_s": 0.0}
            self._rows[key] = row
        row["timed"] += 1
        row["seconds"] += seconds
        row["longest_s"] = max(row["longest_s"], seconds)
        row["cpu_s"] += cpu_s

    def report(self, at_last: bool = False) -> None:
        now = time.monotonic()
        if not self.is_timing or (now - self._reported_at < REPORT_INTERVAL_S and not at_last):
            return
        self._reported_at = now
        rows = [dict(row) for row in self._rows.values()]
        self._probe.emit(CallbacksTimed(at=time.time(), seconds=now - self._timed_since, calls=dict(self._calls), callbacks=rows))


class _StandIn:
    """For a callback, in the list that Keras goes through: what is asked of it is asked of the callback."""

    __slots__ = ("_callback", "_hook", "_times")

    def __init__(self, callback: Any, times: CallbackTimes, hook: str) -> None:
        self._callback, self._times, self._hook = callback, times, hook

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._callback, name)
        if name != self._hook:
            return found
        return lambda *args, **kwargs: self._times.timed(name, self._callback, found, args, kwargs)


def _is_read(logs: Any) -> bool:
    """Waits until the device has computed the step. Where there is no loss there is nothing to wait for."""
    if isinstance(logs, dict):
        as_number(logs.get("loss"))
    return True


# Saving has its own clock: Model.save and save_weights of Keras 3 and tf_keras, tf.train.Checkpoint and, of TensorFlow 1, Saver.


def install_model(module: ModuleType, probe: Probe) -> None:
    for name in ("save", "save_weights"):
        wrap(module.Model, name, _timed(probe))


def install_checkpoint(module: ModuleType, probe: Probe) -> None:
    for name in ("save", "write", "_write"):  # CheckpointManager calls the last
        wrap(getattr(module, "Checkpoint", None), name, _timed(probe))


def install_saver(module: ModuleType, probe: Probe) -> None:
    """tf.compat.v1.train.Saver, by which sessions and Estimators write checkpoints."""
    wrap(getattr(module, "Saver", None), "save", _timed(probe))


def _timed(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not probe.active or probe.phase == "save":
                return original(owner, *args, **kwargs)
            path = next(
                (str(value) for value in (*args, *kwargs.values()) if isinstance(value, str) or hasattr(value, "__fspath__")),
                "",
            )
            where = probe.shield.call("saving", find_user_place, 2)
            began = time.monotonic()
            probe.shield.call("saving", probe.phase_began, "save")
            try:
                return original(owner, *args, **kwargs)
            finally:
                probe.shield.call("saving", probe.phase_ended, "save")
                probe.shield.call("saving", probe.saved, path, time.monotonic() - began, where)

        return method

    return make
