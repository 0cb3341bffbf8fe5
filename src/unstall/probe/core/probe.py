"""The probe of one process: where hooks report to. It keeps the phase, counts the steps, sets the pulse, writes events.

Hooks call it through its shield. All of it is cheap: a step costs a few stores into shared memory and an addition.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Optional

from unstall.base.redact.environment import redact_command
from unstall.base.redact.text import register_command
from unstall.journal.events import (
    CheckpointSaved,
    EpochEnded,
    Event,
    FitBegan,
    FitEnded,
    PhaseBegan,
    PhaseEnded,
    ProgramStarted,
)
from unstall.journal.pulse import Pulse
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter
from unstall.probe.core.shield import Shield
from unstall.probe.core.step_counter import StepCounter
from unstall.probe.input.tf_timestamp import InputStamp

EACH_STEP_UP_TO = 34  # further probes see each of the first steps, and later ones now and then
PROBE_INTERVAL_S = 0.05
ASIDE = ("validate", "predict", "save")  # phases that stand between steps, and are timed by themselves


class Probe:
    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.active = True
        self.pid = os.getpid()
        self.writer = JournalWriter(run.journal_path("probe", self.pid))
        self.shield = Shield(self.emit)
        self._pulse: Optional[Pulse] = None
        self._introduced = False
        self._born = time.time()
        self.fit_depth = 0
        self.phases: list[tuple[str, float]] = []  # name and monotonic begin, the current one last
        self.aside_s = 0.0  # in validations, predictions and saves up to now
        self.train = StepCounter("train", self.emit)
        self.other = StepCounter("validate", self.emit)
        self.step_began_at = 0.0
        self.step_began_wall = 0.0
        self.epoch = -1
        self._fit_began_at = 0.0
        self._epoch_began_at = 0.0
        self._input_wait: Optional[float] = None
        self.training_thread = 0
        self.input_stamp: Optional[InputStamp] = None
        self.on_batch: Optional[Callable[[Any], None]] = None  # sees each batch that passes through Python
        self.on_each_step: list[Callable[[Any, int], None]] = []  # called as (model, steps done)
        self.on_step: list[Callable[[Any, int], Optional[bool]]] = []  # the same, seldom; True: the next step too, please
        self._probes_due = 0.0
        self.wants_next_step = False
        self.on_fit: list[Callable[[Any], None]] = []
        self.on_fit_end: list[Callable[[], None]] = []
        self.on_other_pass: list[Callable[[], None]] = []  # an evaluation or a prediction that is no part of a fit
        self.last_losses: list[Any] = []  # of the steps that have just ended, unread: reading one may wait for the device
        self.read_loss: Optional[Callable[[], tuple[Optional[float], int]]] = None  # its value, its age in steps
        self.settle: Optional[Callable[[], None]] = None  # accounts for steps that were only counted up to now
        self.close_loop: Optional[Callable[[], None]] = None  # ends the count of one's own loop when a fit begins
        self.extras: dict[str, Any] = {}  # what several hooks of one probe share

    # --- writing ---

    def emit(self, event: Event) -> None:
        if not self.active:
            return
        if not self._introduced:
            self._introduced = True
            register_command(getattr(sys, "orig_argv", sys.argv))
            argv = redact_command(getattr(sys, "orig_argv", sys.argv))
            version = ".".join(str(part) for part in sys.version_info[:3])
            self.writer.write(ProgramStarted(at=self._born, pid=self.pid, python=version, argv=argv))
        self.writer.write(event)

    def stop(self) -> None:
        """Switches everything off, for good: after a fork in the child, or on request."""
        self.active = False

    @property
    def pulse(self) -> Optional[Pulse]:
        """None where the disk has no room for one: then the watcher has to do without."""
        if self._pulse is None:
            self.shield.call("pulse", self._make_pulse)
        return self._pulse

    def _make_pulse(self) -> None:
        self._pulse = Pulse(self.run.pulse_path(self.pid))
        self.writer.on_brought_back = self._pulse.bring_back

    # --- phases ---

    def phase_began(self, name: str) -> None:
        if name in ASIDE and self.settle is not None:
            self.settle()
        now = time.monotonic()
        if name in ASIDE:
            self.train.flush(now, *(self.read_loss() if self.read_loss is not None else (None, 0)))
        self.phases.append((name, now))
        if self.pulse:
            self.pulse.phase(name, now)
        self.emit(PhaseBegan(at=time.time(), phase=name, step=self.train.done, epoch=self.epoch))

    def phase_ended(self, name: str) -> None:
        if not any(phase == name for phase, _ in self.phases):
            return
        now = time.monotonic()
        while self.phases:
            ended, began = self.phases.pop()
            if ended == name:
                break
        if name in ASIDE and not any(phase in ASIDE for phase, _ in self.phases):
            self.aside_s += now - began
        current = self.phases[-1][0] if self.phases else "between"
        if self.pulse:
            self.pulse.phase(current, now)
        self.emit(PhaseEnded(at=time.time(), phase=name, step=self.train.done, epoch=self.epoch, seconds=now - began))

    @property
    def phase(self) -> str:
        return self.phases[-1][0] if self.phases else ""

    def other_pass_began(self) -> None:
        """What the program has given for it must not be taken for what the next fit is given."""
        if self.fit_depth == 0:
            for hook in self.on_other_pass:
                self.shield.call(getattr(hook, "__name__", "other pass"), hook)

    # --- a fit ---

    def fit_began(
        self,
        model: Any,
        api: str,
        backend: str,
        epochs: Optional[int],
        steps: Optional[int],
        where: Optional[str],
        is_mean: bool = False,
    ) -> None:
        """`is_mean`: the loss that is told of a step is the mean over the epoch so far."""
        if self.close_loop is not None:
            self.close_loop()
        self.fit_depth += 1
        if self.fit_depth > 1:
            return
        self.training_thread = threading.get_ident()
        self.train = StepCounter("train", self.emit, running_mean=is_mean)
        self._fit_began_at = time.monotonic()
        self.emit(FitBegan(at=time.time(), api=api, backend=backend, epochs=epochs, steps_per_epoch=steps, where=where))
        self.phase_began("fit")
        for hook in self.on_fit:
            self.shield.call(getattr(hook, "__name__", "fit probe"), hook, model)

    def fit_ended(self) -> None:
        if self._end_fit():
            now = time.monotonic()
            self.emit(FitEnded(at=time.time(), seconds=now - self._fit_began_at, steps=self.train.done))

    def fit_was_left(self) -> None:
        """By an error that the program has caught: nobody told of its end, and the next one is none inside of it."""
        self._end_fit()

    def _end_fit(self) -> bool:
        """Whether it was the outermost."""
        if self.fit_depth == 0:
            return False
        self.fit_depth -= 1
        if self.fit_depth:
            return False
        if self.settle is not None:
            self.settle()
            self.settle = self.read_loss = None
        self.train.flush(time.monotonic())
        for hook in self.on_fit_end:
            self.shield.call(getattr(hook, "__name__", "fit end"), hook)
        for name in ("first_step", "train", "fit"):
            self.phase_ended(name)
        return True

    def epoch_began(self, epoch: int) -> None:
        self.epoch = epoch
        self._epoch_began_at = time.monotonic()
        self.train.epoch(epoch)

    def epoch_ended(self, epoch: int, logs: dict[str, Any]) -> None:
        from unstall.probe.core.step_counter import as_number

        numbers = {str(key): as_number(value) for key, value in logs.items()}
        bad = [key for key, value in numbers.items() if value is not None and value - value != 0]
        clean = {key: (None if key in bad else value) for key, value in numbers.items()}
        seconds = time.monotonic() - self._epoch_began_at
        self.emit(EpochEnded(at=time.time(), epoch=epoch, seconds=seconds, logs=clean, not_finite=bad))

    # --- steps ---

    def step_began(self) -> None:
        now = time.monotonic()
        self.step_began_at = now
        self.step_began_wall = time.time()
        if self.train.done == 0 and self.phase == "fit":
            self.phase_began("first_step")
        pulse = self._pulse
        if pulse is not None:
            pulse.step(self.train.done, self.epoch, now)

    def step_ended(
        self,
        model: Any,
        wait_s: Optional[float],
        loss: Callable[[], tuple[Optional[float], int]],
        count: int = 1,
        waited: Optional[int] = None,
        began: Optional[float] = None,
    ) -> None:
        """A step, or `count` of them that began then. The wait is that of `waited` of them; None: of them all."""
        now = time.monotonic()
        if wait_s is None:
            wait_s, self._input_wait, waited = self._input_wait, None, None
        self.train.ended(self.step_began_at if began is None else began, now, wait_s, loss, count, waited or count)
        if self.phase == "first_step":
            self.phase_ended("first_step")
            self.phase_began("train")
        pulse = self._pulse
        if pulse is not None:
            pulse.steps_done(self.train.done, now)
        done = self.train.done
        for each in self.on_each_step:
            self.shield.call("each step", each, model, done)
        if now >= self._probes_due or done <= EACH_STEP_UP_TO or self.wants_next_step:
            self._probes_due = now + PROBE_INTERVAL_S
            self._call_step_probes(model, done)

    def steps_rested(self, count: int) -> None:
        """So many steps have ended since the last that was told."""
        if self._pulse is not None:
            self._pulse.at_step(self.train.done + count)

    def _call_step_probes(self, model: Any, done: int) -> None:
        wanted = False
        for hook in self.on_step:
            if self.shield.call(getattr(hook, "__name__", "step probe"), hook, model, done):
                wanted = True
        self.wants_next_step = wanted

    def other_step(self, phase: str, began: float) -> None:
        """A step of a validation or prediction."""
        now = time.monotonic()
        if self.other.phase != phase:
            self.other = StepCounter(phase, self.emit)
        self.other.ended(began, now, None, lambda: (None, 0))
        if self._pulse is not None:
            self._pulse.steps_done(self.train.done + self.other.done, now)

    # --- input that Python itself waits for ---

    def input_began(self) -> float:
        now = time.monotonic()
        if self._pulse is not None:
            self._pulse.input_since(now)
        return now

    def input_ended(self, began: float) -> None:
        now = time.monotonic()
        if self._pulse is not None:
            self._pulse.input_since(0.0)
        self._input_wait = (self._input_wait or 0.0) + now - began

    def saved(self, path: str, seconds: float, where: Optional[str]) -> None:
        self.emit(CheckpointSaved(at=time.time(), path=path, seconds=seconds, where=where))


_current: Optional[Probe] = None


def get_current() -> Optional[Probe]:
    """The probe of this process, if it is on."""
    return _current if _current is not None and _current.active else None


def set_current(probe: Optional[Probe]) -> None:
    global _current  # noqa: PLW0603 - one process has one probe
    _current = probe
