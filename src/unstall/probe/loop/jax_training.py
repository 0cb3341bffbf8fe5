"""The steps of one's own JAX loop: calls of jitted functions in whose trace a gradient was computed, and gradients without jit.

Nothing that the program holds is replaced, and no frame of ours lies around what JAX traces. Three places tell: the check of a
loss that `jax.grad` and `jax.value_and_grad` make once it is computed; the end of a jitted call that was traced or compiled; and
the post hook, which JAX itself calls after every other jitted call (its own check for NaN is made there).

JAX runs ahead of Python: a step has ended when its call has come back. The loss is a scalar among what the step gives back and
does not take again; it is read once the device has computed it. The work of a step is bounded: arguments and results are gone
through in its first calls alone.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType, ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.core.user_code import is_own_file, is_user_code
from unstall.probe.coverage import COMPILATIONS, LOSS, STEPS, get_coverage
from unstall.probe.host import rank
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.loop.jax_losses import LossOutput
from unstall.probe.loop.jax_weights import Differentiated, StepWeights, find_differentiated
from unstall.probe.loop.losses import find_scalar, get_loss_watch, is_float_scalar
from unstall.probe.loop.traces import TracedFunction, describe_types, get_python_function, get_traces

MAX_FRAMES = 400  # above a gradient, in which the jitted function around it is looked for
MAX_WRAPPERS = 20  # around a function
MAX_LINES = 100  # without jit, whose weights are looked at
BEAT_EVERY_S = 0.1  # while the program does something else on JAX than steps
_AROUND_ALL = "/jax/_src/traceback_util.py"  # its code lies around every function of JAX's


class _Trainer:
    """A jitted function that trains."""

    def __init__(self, function: Any, record: TracedFunction, weights: StepWeights) -> None:
        self.record = record
        self.loss = LossOutput(function)
        self.weights = weights


class _Traced(threading.local):
    """What this thread has traced a gradient in, and has not come back from yet."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()  # of all functions that were running then
        self.differentiated: list[Optional[Differentiated]] = []
        self.began = 0.0
        self.compiled_s = 0.0  # what JAX had spent on compiling by then


class JaxLoop:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._loop = get_loop(probe)
        self._traces = get_traces(probe)
        self._traced = _Traced()
        self._trainers: dict[int, tuple[Any, Optional[_Trainer]]] = {}  # by the function that was jitted, weakly held
        self._lines: dict[Any, StepWeights] = {}  # by the user's line that computes a gradient without jit
        self._beat_due = 0.0
        self._sees_losses = False
        self._is_beside_others: Optional[bool] = None  # whether another process tells of the steps
        self.sees_calls = False  # the place where a compiled call ends is as it is expected to be
        self.put_post_hook: Callable[[], None] = lambda: None

    def is_mine(self) -> bool:
        return self._probe.active and self._loop.is_mine() and not self._loop.is_in_step

    # --- what JAX tells ---

    def gradient_computed(self, loss: Any, is_traced: bool) -> None:
        """The loss, of which a gradient is computed next; only its tracer within a trace."""
        if self._is_beside_others is None:
            self._is_beside_others = rank.is_beside_others(self._probe)
        if self._is_beside_others:
            return
        self.put_post_hook()
        if is_traced:
            if not self._traced.codes:
                self._traced.began, self._traced.compiled_s = time.monotonic(), self._traces.compiled_s
                self._traced.differentiated = []
            self._traced.codes |= _running()
            self._traced.differentiated.append(self._probe.shield.call("weights of JAX", find_differentiated, True))
            return
        self._traced.codes.clear()
        frame = _user_frame()
        place = None if frame is None else (frame.f_code, frame.f_lineno)
        self._step(place, time.monotonic(), loss if is_float_scalar(loss) else None)
        if place in self._lines or len(self._lines) < MAX_LINES:
            self._lines.setdefault(place, StepWeights(self._probe, [])).computed()

    def call_ended(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Of a jitted function that had been compiled before."""
        known = self._trainers.get(id(function))
        if known is not None and known[1] is not None:
            trainer = known[1]
            trainer.record.calls += 1
            self._step(trainer.record, time.monotonic(), trainer.loss.of(args, kwargs, result))
            trainer.weights.called(lambda: _codes(function), args, kwargs, result)
        elif self._loop.is_open:
            now = time.monotonic()
            if now >= self._beat_due:
                self._beat_due = now + BEAT_EVERY_S
                self._loop.progressed()

    def slow_call_ended(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Of a jitted function that was traced or compiled for it."""
        traced, now = self._traced, time.monotonic()
        is_trace = bool(traced.codes and traced.codes & _codes(function))
        trainer = self._trainer(function, is_trace)
        if trainer is None:
            return
        trainer.record.calls += 1
        seconds = 0.0
        if is_trace:
            traced.codes.clear()
            traced.differentiated = []
            # It may have been traced long before it is called. JAX says what it spent, some of it twice, but nothing of the call.
            seconds = min(now - traced.began, self._traces.compiled_s - traced.compiled_s or now - traced.began)
            self._traces.own.add(trainer.record.name)
            get_coverage(self._probe).hook_installed("jax", (COMPILATIONS,))
            types = describe_types(_argument_names(function), args, kwargs)
            self._traces.traced(trainer.record, seconds, self._trainers[id(function)][0], types)
        self._step(trainer.record, now - seconds, trainer.loss.of(args, kwargs, result))
        trainer.weights.called(lambda: _codes(function), args, kwargs, result)

    # --- steps ---

    def _trainer(self, function: Any, is_new: bool) -> Optional[_Trainer]:
        known = self._trainers.get(id(function))
        if known is not None or not is_new:
            return None if known is None else known[1]
        record = self._traces.of(function)
        weights = StepWeights(self._probe, self._traced.differentiated)
        trainer = None if record is None else _Trainer(function, record, weights)
        key, trainers = id(function), self._trainers
        try:
            trainers[key] = (weakref.ref(function, lambda _: trainers.pop(key, None)), trainer)
        except TypeError:  # of a class whose objects cannot be held weakly: the program's own must not be held otherwise
            return None
        return trainer

    def _step(self, clock: Any, began: float, loss: Any) -> None:
        if loss is not None and not self._sees_losses:
            self._sees_losses = True
            coverage = get_coverage(self._probe)
            coverage.hook_installed("jax", (LOSS,))
            coverage.report()
        self._loop.trained(clock, began, lambda: loss, "jax")


def get_jax_loop(probe: Probe) -> JaxLoop:
    found: Optional[JaxLoop] = probe.extras.get("jax loop")
    if found is None:
        found = probe.extras["jax loop"] = JaxLoop(probe)
        get_loss_watch(probe)
    return found


def _running() -> set[CodeType]:
    """The code of every function that this thread is in."""
    codes: set[CodeType] = set()
    frame: Optional[FrameType] = sys._getframe(1)
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        if not is_own_file(frame.f_code.co_filename) and not frame.f_code.co_filename.endswith(_AROUND_ALL):
            codes.add(frame.f_code)
        frame = frame.f_back
    return codes


def _codes(function: Any) -> set[CodeType]:
    """Of a function, and of what it lies around."""
    codes: set[CodeType] = set()
    waiting = [function]
    for _ in range(MAX_WRAPPERS):
        if not waiting:
            break
        function = waiting.pop()
        call = next((vars(kind)["__call__"] for kind in type(function).__mro__ if "__call__" in vars(kind)), None)
        code = getattr(function, "__code__", None) or getattr(call, "__code__", None)
        if code is not None and code.co_filename.endswith(_AROUND_ALL):  # it names the user's function as what it lies around
            waiting += [cell.cell_contents for cell in function.__closure__ or () if callable(cell.cell_contents)]
        elif code is not None:
            codes.add(code)
        waiting += [getattr(function, name) for name in ("__wrapped__", "func") if callable(getattr(function, name, None))]
    return codes


def _argument_names(function: Any) -> list[str]:
    code = getattr(get_python_function(function), "__code__", None)
    return list(code.co_varnames[: code.co_argcount]) if code is not None else []


def _user_frame() -> Optional[FrameType]:
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and not is_user_code(frame.f_code):
        frame = frame.f_back
    return frame


def install(module: ModuleType, probe: Probe) -> bool:
    """jax._src.api: gradients, and calls of functions that have been compiled."""
    loop, call = get_jax_loop(probe), probe.shield.call
    tracer = getattr(getattr(module, "core", None), "Tracer", None)
    post_hook = _PostHook(module, probe, loop)
    if tracer is None or not post_hook.is_there:
        return False
    loop.put_post_hook = post_hook.put

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _check_scalar(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if loop.is_mine() and len(args) == 1:
                call("jax gradients", loop.gradient_computed, args[0], isinstance(args[0], tracer))
            return result

        return _check_scalar

    is_seen = wrap(module, "_check_scalar", make)
    if is_seen:
        call("jax post hook", post_hook.stay)
    return is_seen


class _PostHook:
    """The place where JAX asks for a check of what a jitted call has given. It is ours from the first gradient on; a check that
    the program has switched on (`jax_debug_nans`) is made as before."""

    def __init__(self, module: ModuleType, probe: Probe, loop: JaxLoop) -> None:
        self._module = module
        self._probe = probe
        self._loop = loop
        state = getattr(module, "_post_hook_state", None)  # of newer JAX; an older one has it in another place
        self._state = state if hasattr(state, "set_global") and hasattr(state, "get_local") else None
        self._older = getattr(module, "jax_jit", None)
        self._is_wanted = False

    @property
    def is_there(self) -> bool:
        return self._state is not None or hasattr(self._older, "global_state")

    def put(self) -> None:
        self._is_wanted = True
        if self._state is not None:
            self._put(self._state.get_global(), self._state.set_global)
            local = self._state.get_local()  # an object of its own stands for none
            if local is None or callable(local):
                self._put(local, self._state.set_local)
            return
        older: Any = self._older
        everywhere, here = older.global_state(), older.thread_local_state()
        self._put(everywhere.post_hook, partial(setattr, everywhere, "post_hook"))
        if here.post_hook is not None:  # else that of all threads is called
            self._put(here.post_hook, partial(setattr, here, "post_hook"))

    def _put(self, present: Any, put: Callable[[Any], None]) -> None:
        if not hasattr(present, "_unstall_before"):
            put(self._made(present))

    def _made(self, before: Any) -> Any:
        probe, loop, ended = self._probe, self._loop, self._loop.call_ended
        call = probe.shield.call

        def look(function: Any, args: Any, kwargs: Any, result: Any) -> None:
            if loop.is_mine():
                call("jax steps", ended, getattr(function, "__wrapped__", None), args, kwargs, result)

        def look_and_check(function: Any, args: Any, kwargs: Any, result: Any) -> None:
            look(function, args, kwargs, result)
            before(function, args, kwargs, result)

        post_hook: Callable[..., None] = look if before is None else hide_own_frames(look_and_check)
        post_hook._unstall_before = before  # type: ignore[attr-defined]
        return post_hook

    def stay(self) -> None:
        """JAX puts its own in the place, or nothing, when a check is switched on or off."""
        config = getattr(self._module, "config", None)
        for state in (getattr(config, "debug_nans", None), getattr(config, "debug_infs", None)):
            add = getattr(state, "_add_hooks", None)
            names = ("_update_debug_special_global", "_update_debug_special_thread_local")
            updates = [getattr(self._module, name, None) for name in names]
            if add is not None and all(map(callable, updates)):
                add(*(self._followed(update) for update in updates))

    def _followed(self, update: Any) -> Callable[[Any], None]:
        def update_and_put(value: Any) -> None:
            update(value)
            if self._is_wanted and self._probe.active:
                self._probe.shield.call("jax post hook", self.put)

        return update_and_put


def install_calls(module: ModuleType, probe: Probe) -> None:
    """jax._src.pjit: the end of a jitted call for which there was no compiled function yet."""
    loop, call = get_jax_loop(probe), probe.shield.call

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _get_fastpath_data(*args: Any, **kwargs: Any) -> Any:
            if loop.is_mine():
                call("jax steps", ended)
            return original(*args, **kwargs)

        return _get_fastpath_data

    def ended() -> None:
        frame: Optional[FrameType] = sys._getframe(1)
        while frame is not None and is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        values = {} if frame is None else frame.f_locals
        if not all(name in values for name in ("fun", "args", "kwargs", "outs", "out_flat")):
            return  # not the call itself
        if not loop.sees_calls:
            loop.sees_calls = True
            get_coverage(probe).hook_installed("jax", (STEPS,))
        if not any(isinstance(each, tracer) for each in values["out_flat"]):  # else a call within a trace
            loop.slow_call_ended(values["fun"], values["args"], values["kwargs"], values["outs"])

    tracer: Any = getattr(getattr(module, "core", None), "Tracer", None)
    if tracer is not None:
        wrap(module, "_get_fastpath_data", make)


def install_jax_trainer(module: ModuleType, probe: Probe) -> None:
    """keras.src.backend.jax.trainer: `train_on_batch` in a loop. On the other backends the optimizer or the tape tells."""
    loop, call = get_loop(probe), probe.shield.call

    def trained(model: Any, began: float, result: Any) -> None:
        path = find_scalar(result)
        value = result
        for key in path or ():
            value = value[key]
        loop.trained("train_on_batch", began, lambda: None if path is None else value, "jax")
        loop.asked_for(list(model.trainable_variables))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def train_on_batch(model: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            loop.is_in_step = True
            try:
                result = original(model, *args, **kwargs)
            finally:
                loop.is_in_step = False
            if probe.active and loop.is_mine():
                call("train_on_batch", trained, model, began, result)
            return result

        return train_on_batch

    wrap(module.JAXTrainer, "train_on_batch", make)
