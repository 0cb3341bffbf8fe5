"""Follows `fit`, `evaluate` and `predict` of Keras 3 (any backend) and Keras 2 through their CallbackList.

The list's own methods are wrapped rather than a callback added: a callback more would switch off Keras's asynchronous
dispatch, and would be seen by the program. Losses are read seldom, and then one that is ready: reading the newest would
wait for the device.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import EACH_STEP_UP_TO, Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.user_code import find_user_place
from unstall.probe.fit.callback_times import EACH_BATCH, LONG_S, CallbackTimes
from unstall.probe.input.epoch_iterator import TRAINERS
from unstall.probe.loop.losses import RecentLosses


def install(module: ModuleType, probe: Probe) -> None:
    _Follower(probe, "keras").follow(module.CallbackList)


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    """callbacks of Keras 2, by whichever name."""
    callback_list = module.CallbackList
    # Since TensorFlow 2.2 the loss that callbacks are told is a mean over the epoch; before, it was that of the batch.
    is_mean = hasattr(callback_list, "_add_default_callbacks")
    api = "tf_keras" if module.__name__.startswith("tf_keras") else "keras"
    _Follower(probe, api, "tensorflow", is_mean).follow(callback_list)


REST_S = 0.05  # steps that follow the last one sooner than this are only counted, and told together with the next


class _Follower:
    def __init__(self, probe: Probe, api: str, backend: str = "", is_mean: bool = True) -> None:
        """The backend where it is known; and whether the loss in the logs of a batch is the mean over the epoch so far."""
        self.probe = probe
        self.api, self.backend, self.is_mean = api, backend, is_mean
        self.is_whole = True  # the step that is going on is looked at
        self.rests_until = 0.0
        self.last_end = 0.0  # of a step that was looked at
        self.rested: list[Any] = []  # what the steps that were only counted gave
        self.losses = RecentLosses()
        self.is_between_steps = False  # callbacks of a batch are called now
        self.other_began = 0.0
        self.times = CallbackTimes(probe)
        self.fits = 0  # that have begun and not ended: more than one where a callback trains another model

    def follow(self, callback_list: type) -> None:
        hooks = {
            "on_train_begin": (self.train_begin, None),
            "on_train_end": (None, self.train_end),
            "on_test_begin": (self.test_begin, None),
            "on_test_end": (None, self.test_end),
            "on_test_batch_begin": (None, self.other_batch_begin),
            "on_test_batch_end": (self.test_batch_end, None),
            "on_predict_begin": (self.predict_begin, None),
            "on_predict_end": (None, self.predict_end),
            "on_predict_batch_begin": (None, self.other_batch_begin),
            "on_predict_batch_end": (self.predict_batch_end, None),
        }
        for name, (before, after) in hooks.items():
            wrap(callback_list, name, self._around(f"keras {name}", before, after))
        wrap(callback_list, "on_epoch_begin", self._around_epoch("on_epoch_begin", self.epoch_begin))
        if self.is_mean:
            wrap(callback_list, "on_epoch_end", self._around_epoch("on_epoch_end", self.epoch_end))
        else:  # a callback of Keras's own writes the means of the epoch into its logs
            wrap(callback_list, "on_epoch_end", self._around("keras on_epoch_end", self.epoch_steps_ended, self.epoch_end))
        if not hasattr(callback_list, "on_train_batch_begin"):  # Keras 2.2
            wrap(callback_list, "on_batch_begin", self._batch_begin())
            wrap(callback_list, "on_batch_end", self._batch_end())
        elif hasattr(callback_list, "_call_batch_hook") and not hasattr(callback_list, "_call_batch_begin_hook"):
            wrap(callback_list, "_call_batch_hook", self._batch_hook())  # Keras 2.3, TensorFlow up to 2.2
        else:
            wrap(callback_list, "on_train_batch_begin", self._batch_begin())
            wrap(callback_list, "on_train_batch_end", self._batch_end())

    def _around(
        self, name: str, before: Optional[Callable[..., None]], after: Optional[Callable[..., None]]
    ) -> Callable[..., Any]:
        """Ours runs before or after the list's own method, so that callbacks' time is not counted into the step."""
        probe, call = self.probe, self.probe.shield.call

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def method(callbacks: Any, *args: Any, **kwargs: Any) -> Any:
                if before is not None and probe.active:
                    call(name, before, callbacks, *args, **kwargs)
                result = original(callbacks, *args, **kwargs)
                if after is not None and probe.active:
                    call(name, after, callbacks, *args, **kwargs)
                return result

            return method

        return make

    def _around_epoch(self, name: str, before: Callable[..., None]) -> Callable[..., Any]:
        """The same, where callbacks of the program's own may take long."""
        probe, call = self.probe, self.probe.shield.call

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def method(callbacks: Any, *args: Any, **kwargs: Any) -> Any:
                if not probe.active:
                    return original(callbacks, *args, **kwargs)
                call(f"keras {name}", before, callbacks, *args, **kwargs)
                return self._timed(name, original, callbacks, *args, **kwargs)

            return method

        return make

    def _timed(self, name: str, original: Callable[..., Any], callbacks: Any, *args: Any, **kwargs: Any) -> Any:
        probe, times, now = self.probe, self.times, time.monotonic
        if times.is_timing and probe.active:
            return times.call(name, original, callbacks, *args, **kwargs)
        began, aside_s = now(), probe.aside_s
        result = original(callbacks, *args, **kwargs)
        ended = now()
        if ended - began > LONG_S:
            probe.shield.call("callback times", times.took, ended - began, probe.aside_s - aside_s, ended)
        return result

    def _batch_begin(self) -> Callable[..., Any]:
        probe, call, now = self.probe, self.probe.shield.call, time.monotonic

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def on_train_batch_begin(callbacks: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(callbacks, *args, **kwargs)
                if probe.active:
                    self.is_whole = now() >= self.rests_until
                    if self.is_whole:
                        call("keras on_train_batch_begin", probe.step_began)
                return result

            return on_train_batch_begin

        return make

    def _batch_end(self) -> Callable[..., Any]:
        probe, call = self.probe, self.probe.shield.call

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def on_train_batch_end(callbacks: Any, batch: Any, logs: Any = None) -> Any:
                if probe.active:
                    if self.is_whole:
                        call("keras on_train_batch_end", self.batch_end, callbacks, logs)
                    else:  # these few lines are most of what a short step costs
                        self.rested.append(logs)
                        probe.steps_rested(len(self.rested))
                self.is_between_steps = True
                result = self._timed(EACH_BATCH, original, callbacks, batch, logs)
                self.is_between_steps = False
                return result

            return on_train_batch_end

        return make

    def _batch_hook(self) -> Callable[..., Any]:
        """One method for all batches, which is told what of them begins or ends."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def training_begin(callbacks: Any, batch: Any, logs: Any = None) -> Any:
                return original(callbacks, "train", "begin", batch, logs)

            def training_end(callbacks: Any, batch: Any, logs: Any = None) -> Any:
                return original(callbacks, "train", "end", batch, logs)

            of_training = {"begin": self._batch_begin()(training_begin), "end": self._batch_end()(training_end)}

            def _call_batch_hook(callbacks: Any, mode: Any, hook: str, batch: Any, logs: Any = None) -> Any:
                if mode == "train" and hook in of_training:
                    return of_training[hook](callbacks, batch, logs)
                return original(callbacks, mode, hook, batch, logs)

            return _call_batch_hook

        return make

    # --- training ---

    def train_begin(self, callbacks: Any, logs: Any = None) -> None:
        model = _model(callbacks)
        params = _attribute(callbacks, "params") or {}
        self.losses.clear()
        self.rested.clear()
        self.is_between_steps = False
        self.rests_until = 0.0
        if self.fits and self.probe.training_thread == threading.get_ident() and _fits_on_the_stack() <= 1:
            for _ in range(self.fits):
                self.probe.fit_was_left()
            self.fits = 0
        self.fits += 1
        if self.probe.fit_depth == 0:
            self.times.begin()
        self.probe.settle, self.probe.read_loss = self.settle, self.losses.read
        self.probe.fit_began(
            model,
            self.api,
            self.backend or _backend(),
            _whole(params.get("epochs")),
            _steps(params),
            find_user_place(3),
            is_mean=self.is_mean,
        )

    def train_end(self, callbacks: Any, logs: Any = None) -> None:
        if self.probe.fit_depth == 1:
            self.times.report(at_last=True)
        self.fits = max(0, self.fits - 1)
        self.probe.fit_ended()

    def epoch_begin(self, callbacks: Any, epoch: int, logs: Any = None) -> None:
        self.settle()
        self.losses.clear()
        self.probe.epoch_began(int(epoch))

    def epoch_steps_ended(self, callbacks: Any, epoch: int, logs: Any = None) -> None:
        self.settle()
        self.probe.train.flush(time.monotonic(), *self.losses.read())

    def epoch_end(self, callbacks: Any, epoch: int, logs: Any = None) -> None:
        self.settle()
        logs = dict(logs) if isinstance(logs, dict) else {}
        self.probe.train.flush(time.monotonic(), as_number(logs.get("loss")))
        self.probe.epoch_ended(int(epoch), logs)

    def batch_end(self, callbacks: Any, logs: Any) -> None:
        probe = self.probe
        stamp = probe.input_stamp
        wait = None if stamp is None else stamp.wait_s(probe.step_began_at, probe.step_began_wall)
        self._account([*self.rested, logs], _model(callbacks), wait)
        if probe.train.done > EACH_STEP_UP_TO and not probe.wants_next_step:
            self.last_end = time.monotonic()
            self.rests_until = self.last_end + REST_S

    def settle(self) -> None:
        """Tells the steps that were only counted: something else comes next."""
        self.rests_until = 0.0
        if self.rested:
            self._account(list(self.rested), None, None)

    def _account(self, logs_of_steps: list[Any], model: Any, wait_s: Optional[float]) -> None:
        began = self.last_end if self.rested else None
        self.rested.clear()
        losses = [logs.get("loss") if isinstance(logs, dict) else None for logs in logs_of_steps]
        for loss in losses:
            self.losses.add(loss)
        self.probe.last_losses = losses
        self.probe.step_ended(model, wait_s, self.losses.read, len(losses), waited=1, began=began)

    # --- validation and prediction ---

    def test_begin(self, callbacks: Any, logs: Any = None) -> None:
        self.probe.other_pass_began()
        self.probe.phase_began("validate")
        if self.is_between_steps:  # a callback evaluates after a batch
            self.losses.clear()
            self.probe.train.mean_was_reset()

    def test_end(self, callbacks: Any, logs: Any = None) -> None:
        self.probe.other.flush(time.monotonic())
        self.probe.phase_ended("validate")

    def predict_begin(self, callbacks: Any, logs: Any = None) -> None:
        self.probe.other_pass_began()
        self.probe.phase_began("predict")

    def predict_end(self, callbacks: Any, logs: Any = None) -> None:
        self.probe.other.flush(time.monotonic())
        self.probe.phase_ended("predict")

    def other_batch_begin(self, callbacks: Any, batch: int, logs: Any = None) -> None:
        self.other_began = time.monotonic()

    def test_batch_end(self, callbacks: Any, batch: int, logs: Any = None) -> None:
        self.probe.other_step("validate", self.other_began)

    def predict_batch_end(self, callbacks: Any, batch: int, logs: Any = None) -> None:
        self.probe.other_step("predict", self.other_began)


def _fits_on_the_stack() -> int:
    """How many calls of a framework's `fit` this thread is in."""
    count = 0
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        count += frame.f_code.co_name in ("fit", "fit_generator") and frame.f_code.co_filename.endswith(TRAINERS)
        frame = frame.f_back
    return count


def _model(callbacks: Any) -> Any:
    return _attribute(callbacks, "_model") or _attribute(callbacks, "model")


def _attribute(callbacks: Any, name: str) -> Any:
    """Of the list; up to Keras 2.2 only its callbacks know."""
    if hasattr(callbacks, name):
        return getattr(callbacks, name)
    return next((getattr(each, name) for each in getattr(callbacks, "callbacks", ()) if hasattr(each, name)), None)


def _steps(params: Any) -> Optional[int]:
    """Of an epoch. For arrays Keras 2 up to 2.3 tells the samples and the size of a batch."""
    steps, samples, size = (_whole(params.get(name)) for name in ("steps", "samples", "batch_size"))
    return -(-samples // size) if steps is None and samples and size else steps


def _whole(value: Any) -> Optional[int]:
    number = as_number(value)
    return int(number) if number is not None and math.isfinite(number) else None


def _backend() -> str:
    keras = sys.modules.get("keras")
    try:
        return str(keras.backend.backend()) if keras is not None else ""
    except AttributeError:
        return ""
