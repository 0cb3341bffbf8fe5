"""How much of an eager step is Python between the operations: one step in many is profiled, and no other.

The profile sorts the time of that step into the frameworks' own Python code, the operations themselves, and the user's
code. A call into native code that lasts longer than a dispatch ever does counts as work, whatever its name.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.shield import Shield
from unstall.probe.core.user_code import find_code_place, find_user_place, is_user_code
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.model.description import note_compile

PROFILED_STEPS = (5, 12, 40, 120, 400)
MAX_EVENTS = 2_000_000
DISPATCH_AT_MOST_S = 0.001
_KERNELS = frozenset({"TFE_Py_FastPathExecute", "TFE_Py_Execute", "TFE_Py_ExecuteCancelable"})
_FRAMEWORKS = (
    "/site-packages/tensorflow/",
    "/site-packages/keras/",
    "/site-packages/tf_keras/",
    "/site-packages/jax/",
    "/dist-packages/",
)
_JAX_OPERATION = "apply_primitive"  # the function through which JAX runs one operation by itself
FRAMEWORK, KERNEL, USER = "framework", "kernel", "user"

_categories: dict[CodeType, str] = {}


def classify_operation(code: CodeType) -> str:
    """Whose code it is; "" for helpers such as the standard library's, which work for their caller."""
    known = _categories.get(code)
    if known is None:
        file = code.co_filename
        known = FRAMEWORK if any(part in file for part in _FRAMEWORKS) else USER if is_user_code(code) else ""
        _categories[code] = known
    return known


class StepProfile:
    """Profiles this thread from `start` to `stop`."""

    def __init__(self, shield: Shield) -> None:
        self.seconds = {FRAMEWORK: 0.0, KERNEL: 0.0, USER: 0.0}
        self.operations = 0
        self._events = 0
        self._stack: list[str] = []
        self._native = ""
        self._native_began = 0.0
        self._began = 0.0
        self._last = 0.0
        self.total_s = 0.0
        self._call = shield.call  # an error in a profile would be raised in the program

    def start(self) -> None:
        self._stack = [USER]
        self._began = self._last = time.perf_counter()
        sys.setprofile(self._event)

    def stop(self) -> bool:
        """Whether the profile is whole."""
        whole = sys.getprofile() == self._event
        if whole:
            sys.setprofile(None)
        self.total_s = sum(self.seconds.values())
        return whole

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        self._call("eager profile", self._account, frame, event, argument)

    def _account(self, frame: FrameType, event: str, argument: Any) -> None:
        now = time.perf_counter()
        spent = now - self._last
        current = self._stack[-1] if self._stack else USER
        if event == "c_call":
            self.seconds[current] += spent
            self._native = getattr(argument, "__name__", "")
            self._native_began = now
        elif event in ("c_return", "c_exception"):
            is_kernel = self._native in _KERNELS
            self.operations += is_kernel
            is_work = is_kernel or (current == FRAMEWORK and spent > DISPATCH_AT_MOST_S)
            self.seconds[KERNEL if is_work else current] += spent
            self._native = ""
        else:
            self.seconds[current] += spent
            if event == "call":
                self.operations += frame.f_code.co_name == _JAX_OPERATION
                self._stack.append(classify_operation(frame.f_code) or current)
            elif len(self._stack) > 1:
                self._stack.pop()
            else:
                outer = frame.f_back
                self._stack = [(classify_operation(outer.f_code) or USER) if outer is not None else USER]
        self._events += 1
        if self._events > MAX_EVENTS:
            sys.setprofile(None)
        self._last = time.perf_counter()


class EagerWatch:
    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self._probe = probe
        self._loop = loop
        self._steps = 0
        self._profile: Optional[StepProfile] = None
        self._thread = 0
        self.eager_at: Optional[str] = None  # where compile was told run_eagerly
        self.functions_eager_at: Optional[str] = None

    def step(self, frame: Optional[FrameType]) -> None:
        """An eager step has computed its gradients, asked for in this frame of the user's."""
        self._steps += 1
        if self._profile is not None:
            profile, self._profile = self._profile, None
            if threading.get_ident() == self._thread and profile.stop():
                self._report(profile, None if frame is None else find_step_place(frame.f_code, frame.f_lineno))
        elif self._steps in PROFILED_STEPS and sys.getprofile() is None:
            self._thread = threading.get_ident()
            self._profile = StepProfile(self._probe.shield)
            self._profile.start()

    def _report(self, profile: StepProfile, place: Optional[str]) -> None:
        in_fit = self._probe.fit_depth > 0 and not self._loop.is_open
        run = sys.modules.get("tensorflow.python.eager.polymorphic_function.eager_function_run")
        functions_eager = bool(getattr(run, "RUN_FUNCTIONS_EAGERLY", False))
        why = "run_functions_eagerly" if functions_eager else "run_eagerly" if in_fit else "own loop"
        where = {"run_functions_eagerly": self.functions_eager_at, "run_eagerly": self.eager_at}.get(why) or place
        facts = {
            "kind": "eager",
            "why": why,
            "where": where,
            "step": self._steps,
            "step_s": profile.total_s,
            "framework_s": profile.seconds[FRAMEWORK],
            "kernel_s": profile.seconds[KERNEL],
            "user_s": profile.seconds[USER],
            "operations": profile.operations,
        }
        self._probe.emit(LoopSeen(at=time.time(), facts=facts))


def find_step_place(code: CodeType, line: int) -> Optional[str]:
    """The function that holds the step, or the line where that is the module itself."""
    if code.co_name == "<module>" or code.co_name.startswith("<"):
        return f"{code.co_filename}:{line}"

    class _Function:
        __code__ = code

    return find_code_place(_Function)


def get_eager_watch(probe: Probe) -> EagerWatch:
    watch: Optional[EagerWatch] = probe.extras.get("eager")
    if watch is None:
        watch = probe.extras["eager"] = EagerWatch(probe, get_loop(probe))
        get_loop(probe).on_eager_step.append(watch.step)
    return watch


def install_trainer(module: ModuleType, probe: Probe) -> None:
    """keras.src.trainers.trainer"""
    watch = get_eager_watch(probe)

    def note(trainer: Any, kwargs: dict[str, Any]) -> None:
        place = find_user_place()
        note_compile(probe, trainer, place)
        if kwargs.get("run_eagerly"):
            watch.eager_at = place

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            if probe.active:
                probe.shield.call("eager", note, trainer, kwargs)
            return original(trainer, *args, **kwargs)

        return compile

    wrap(module.Trainer, "compile", make)


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    """engine.training of Keras 2"""
    watch = get_eager_watch(probe)

    def note(kwargs: dict[str, Any]) -> None:
        if kwargs.get("run_eagerly"):
            watch.eager_at = find_user_place()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
            if probe.active:
                probe.shield.call("eager", note, kwargs)
            return original(model, *args, **kwargs)

        return compile

    wrap(module.Model, "compile", make)


def install_switch(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.polymorphic_function.eager_function_run"""
    watch = get_eager_watch(probe)

    def note(eagerly: Any) -> None:
        watch.functions_eager_at = find_user_place() if eagerly else None

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def run_functions_eagerly(run_eagerly: Any) -> Any:
            if probe.active:
                probe.shield.call("eager", note, run_eagerly)
            return original(run_eagerly)

        return run_functions_eagerly

    wrap(module, "run_functions_eagerly", make)
