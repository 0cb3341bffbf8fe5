"""How far training moves the weights: a sample of them before and after some steps, layer by layer.

The gradients inside a compiled step cannot be seen without changing the step, so what they do is looked at instead: the
change of the weights over one step and over many, the units whose weights do not change at all, and what the optimizer
itself remembers of the gradients. Of each variable a few thousand numbers are copied; that is done often in the first
steps and then seldom, and never for more than its share of the time.
"""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import ModelDescribed, WeightsSampled
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_user_place
from unstall.probe.coverage import LEARNING_RATE, WEIGHTS, get_coverage
from unstall.probe.input.batch_samples import get_batch_facts
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.loop.losses import get_loss_watch
from unstall.probe.model import learning_rate
from unstall.probe.model.description import describe_fits, describe_loop
from unstall.probe.model.gradients import find_traced_line
from unstall.probe.model.weight_values import Values, Weak, are_readable

EARLY = frozenset({1, 2, 3, 5, 6, 9, 10, 17, 18, 33, 34, 65, 66, 129, 130})
EARLY_COST_S = 0.03  # that the early samples may cost together
SHARE = 0.0015  # of the time, later
MIN_GAP_S = 1.0
MAX_GAP_S = 15.0
GAP_GROWTH = 0.15  # of the time trained so far


class Snapshot:
    def __init__(self, step: int, arrays: list[Any]) -> None:
        self.step = step
        self.arrays = arrays


class Numerics:
    _optimizer = Weak()

    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self.probe = probe
        self._loop = loop
        self._optimizer = None
        self._is_rate_known: Optional[bool] = None  # whether its learning rate can be read
        self._asked_at: Optional[str] = None
        self._is_reported = True  # nothing of one's own loop is to be told yet
        self._reset(None)

    def _reset(self, model: Any) -> None:
        self._values = Values(model)
        self._began = time.monotonic()
        self._cost = 0.0
        self._due = 0.0
        self._start: Optional[Snapshot] = None
        self._before: Optional[Snapshot] = None  # the newest
        self._window: Optional[Snapshot] = None  # the newest of the pair before
        self._pair_at = -1
        self._is_ruined = False
        self._is_new = True  # its first steps have not been seen yet

    # --- what is trained ---

    def fit_began(self, model: Any) -> None:
        if model is None:
            return
        optimizer = getattr(model, "optimizer", None)
        self._is_new = model is not self._values.model or optimizer is not self._optimizer
        if not self._is_new:
            self._before, self._pair_at = None, -1
            return  # the same training goes on: its first steps were seen
        self._reset(model)
        self._optimizer = optimizer
        self._is_rate_known = None
        if not are_readable():
            self._report_blind((WEIGHTS, LEARNING_RATE))
        elif getattr(model, "built", True):
            self._values.choose(list(model.trainable_variables))
            self._baseline()

    def asked_for(self, variables: list[Any]) -> None:
        """One's own loop wants gradients for these."""
        if not self._loop.is_mine() or self._values.holds(variables[0]):
            return
        if self._values.model is not None:
            self._reset(None)
        self._values.choose(variables)
        self._window = self._before = self._start = None
        self._baseline()
        self._asked_at = find_traced_line() or find_user_place()
        self._is_reported = False

    def applied(self, optimizer: Any, grads: Any, variables: Any) -> None:
        if optimizer is not self._optimizer:
            self._optimizer, self._is_rate_known = optimizer, None
        if not self._is_reported:
            self._is_reported = True
            facts = describe_loop(self.probe, optimizer, self._asked_at, find_traced_line() or find_user_place())
            self.probe.emit(ModelDescribed(at=time.time(), facts=facts))

    def loss_broke(self) -> None:
        """The next steps are worth a look, whatever it costs: which weights are still finite?"""
        self._cost, self._due = 0.0, 0.0

    def _baseline(self) -> None:
        arrays = self._timed(self._values.read_outside_graph)
        if arrays and any(array is not None for array in arrays):
            self._start = self._before = self._window = Snapshot(0, arrays)

    # --- samples ---

    def step_ended(self, model: Any, done: int) -> bool:
        """Whether the next step is wanted too, as the second of a pair."""
        if done == 1 and model is not None and not self._values.names and are_readable():
            self._values.choose(list(model.trainable_variables))  # built by its first step
        if not self._values.names:
            return False  # nobody has shown it what is trained
        if done in EARLY and self._is_new:
            if self._cost < EARLY_COST_S:
                self.probe.shield.call("numerics", self._sample, done)
        elif done == self._pair_at or self._is_waiting(done):
            self.probe.shield.call("numerics", self._sample, done)
            self._set_due()
        elif done > 1 and done > self._pair_at and time.monotonic() >= self._due and self._pair_at < done:
            self.probe.shield.call("numerics", self._first_of_pair, done)
        return self._pair_at == done + 1

    def _is_waiting(self, done: int) -> bool:
        """For the second of a pair, which has passed by: many steps are made in one call."""
        return self._before is not None and self._before.step == self._pair_at - 1 and done > self._pair_at

    def _set_due(self) -> None:
        now = time.monotonic()
        trained = now - self._began
        needed = self._cost / SHARE - trained  # until the cost is within its share
        self._due = now + max(min(MAX_GAP_S, GAP_GROWTH * trained), MIN_GAP_S, needed)

    def _timed(self, read: Any) -> Any:
        began = time.thread_time()
        try:
            return read()
        finally:
            self._cost += time.thread_time() - began

    def _first_of_pair(self, done: int) -> None:
        arrays = self._timed(self._values.read)
        self._before = Snapshot(done, arrays)
        self._pair_at = done + 1
        self._due = time.monotonic() + MIN_GAP_S

    def _sample(self, done: int) -> None:
        began = time.thread_time()
        arrays = self._values.read()
        now = Snapshot(done, arrays)
        if self._start is None:
            self._start = self._before = self._window = now
        else:
            gradients = self._values.gradients(self._optimizer, done)
            rows = [self._describe(index, now, gradients[index]) for index in range(len(arrays)) if arrays[index] is not None]
            rate = self._rate(done)
            window = self._window.step if self._window is not None else 0
            facts = {"learning_rate": rate, "window": done - window, "optimizer": type(self._optimizer).__name__, "weights": rows}
            self.probe.emit(WeightsSampled(at=time.time(), step=done, facts=facts))
            if not self._is_ruined and any(weight.get("not_finite") for weight in rows):
                self._is_ruined = True  # the loss may still look as if nothing was wrong
                get_batch_facts(self.probe).loss_broke()
            self._before = now
            if done not in EARLY or done - window >= 30:
                self._window = now
        self._cost += time.thread_time() - began

    def _rate(self, done: int) -> Optional[float]:
        if self._optimizer is not None and self._is_rate_known is None:
            self._is_rate_known = learning_rate.is_known(self._optimizer)
            if not self._is_rate_known:
                self._report_blind((LEARNING_RATE,))
        return learning_rate.read_current_rate(self._optimizer, done, self._values.array)

    def _report_blind(self, signals: tuple[str, ...]) -> None:
        coverage = get_coverage(self.probe)
        coverage.hook_is_blind(signals)
        coverage.report()

    def _describe(self, index: int, now: Snapshot, gradient: Optional[float]) -> dict[str, Any]:
        values = self._values
        array = now.arrays[index]
        facts: dict[str, Any] = {"name": values.names[index], "shape": values.shapes[index], **values.size(array)}
        before, window, start = self._before, self._window, self._start
        if before is not None and before.arrays[index] is not None and now.step == before.step + 1:
            facts["step"] = values.distance(array, before.arrays[index])
        if start is not None and start.arrays[index] is not None:
            facts["start"] = values.size(start.arrays[index]).get("rms")
            facts["moved"] = values.distance(array, start.arrays[index])
        if window is not None and window.arrays[index] is not None and window.step < now.step:
            facts.update(values.still(array, window.arrays[index]))
        if gradient is not None:
            facts["gradient"] = gradient
        return facts


def install(module: ModuleType, probe: Probe) -> bool:
    """With whatever trains: Keras's callbacks, or TensorFlow's tape."""
    trains = hasattr(module, "CallbackList") or hasattr(module, "GradientTape")
    if not trains:
        return False
    describe_fits(probe)
    get_batch_facts(probe)
    get_loss_watch(probe)
    get_numerics(probe)
    return True


def get_numerics(probe: Probe) -> Numerics:
    found: Optional[Numerics] = probe.extras.get("numerics")
    if found is None:
        loop = get_loop(probe)
        found = probe.extras["numerics"] = Numerics(probe, loop)
        probe.on_fit.append(found.fit_began)
        probe.on_step.append(found.step_ended)
        loop.on_variables.append(found.asked_for)
        loop.on_apply.append(found.applied)
        get_loss_watch(probe).on_broken.append(found.loss_broke)
    return found
