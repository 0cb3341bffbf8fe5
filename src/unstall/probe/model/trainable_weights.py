"""Whether training changes the weights at all: what is trainable, what the optimizer is given, and a checksum now and then.

Only small variables are read (they are enough to see whether anything moves), and only every few seconds.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
import time
import weakref
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.core.user_code import find_code_place, find_user_place, parse_source
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.model import gradient_cuts
from unstall.probe.model.gradients import count_elements, find_traced_line, get_name, is_trainable
from unstall.probe.model.gradients_keras import list_user_losses
from unstall.probe.model.learning_rate import find_rate
from unstall.probe.model.weight_values import are_readable

SMALL = 65_536  # elements; larger variables are read only if there is no smaller one
MAX_READ = 6
FIRST_AT_STEP = 2
SAMPLE_EVERY_S = 2.0
SAMPLES_WHILE_CHANGING = 3  # weights that change need no more looking at
MAX_LAYERS = 5000
MAX_NAMES = 20
MAX_VARIABLES = 50_000
ASK_SCHEDULE_AFTER = 50  # steps without any change


class Weights:
    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self.probe = probe
        self.frozen_at: dict[int, str] = {}  # layers set to trainable = False, and where
        self.optimizers = 0
        self.optimizer_made_at: Optional[str] = None
        self.applied_to: set[int] = set()
        self.applied_at: Optional[str] = None
        self.asked_at: Optional[str] = None
        self.schedule_at: Optional[str] = None
        self._loop = loop
        self._model_reference: Any = None  # weak, as all that belongs to the program: its memory must not wait for us
        self._optimizer_reference: Any = None
        self._watched: list[Any] = []  # weak references
        self._asked_ids: set[int] = set()
        self._asked_is_reported = False
        self._asked_in_fit = False
        self._is_described = False
        self._first: dict[int, int] = {}
        self._due = 0.0
        self._changing = 0

    @property
    def _model(self) -> Any:
        return None if self._model_reference is None else self._model_reference()

    @property
    def _optimizer(self) -> Any:
        return None if self._optimizer_reference is None else self._optimizer_reference()

    def optimizer_made(self, optimizer: Any, place: str) -> None:
        self.optimizers += 1
        self.optimizer_made_at = place
        if not self.applied_to:
            self._optimizer_reference = weakref.ref(optimizer)

    # --- what is to be trained ---

    def _reset(self) -> None:
        self._watched, self._first, self._changing, self._due = [], {}, 0, 0.0
        self._asked_ids, self._asked_is_reported, self._asked_in_fit = set(), False, False
        self.applied_to, self.applied_at, self.asked_at = set(), None, None

    def fit_began(self, model: Any) -> None:
        self._model_reference = None
        if model is None:
            return
        self._reset()
        self._model_reference = weakref.ref(model)
        self._is_described = False
        if getattr(model, "built", True):
            self._describe(model)

    def _describe(self, model: Any) -> None:
        """What of a model is trainable. One that is built by its first step is described after it."""
        self._is_described = True
        if not are_readable():
            return
        variables = list(model.trainable_variables)
        optimizer = getattr(model, "optimizer", None)
        self._optimizer_reference = None if optimizer is None else weakref.ref(optimizer)
        self._watch(variables)
        frozen = [layer for layer in _layers(model) if id(layer) in self.frozen_at]
        facts = {
            "kind": "trainable",
            "variables": len(variables),
            "parameters": sum(count_elements(variable) for variable in variables),
            "all_parameters": sum(count_elements(variable) for variable in model.variables if _is_weight(variable)),
            "frozen_at": self.frozen_at[id(frozen[-1])] if frozen else None,
            "frozen_layers": [layer.name for layer in frozen[:MAX_NAMES]],
            **_loss_cut(model),
        }
        self.probe.emit(LoopSeen(at=time.time(), facts=facts))

    def asked_for(self, variables: list[Any]) -> None:
        """Gradients are asked for these."""
        if self.probe.fit_depth > 0 and not self._loop.is_open:
            if not self._asked_in_fit:
                self._asked_in_fit = True
                self.asked_at = find_traced_line() or find_user_place()
            if self._is_described and not self._watched and not self._asked_is_reported:
                self._asked_is_reported = True
                self.probe.emit(LoopSeen(at=time.time(), facts={"kind": "asked", "variables": len(variables)}))
            return
        if self._model_reference is not None:
            self._model_reference = None
            self._reset()
        if id(variables[0]) in self._asked_ids or len(self._asked_ids) > MAX_VARIABLES:
            return
        self._asked_ids.update(id(variable) for variable in variables)
        if self.asked_at is None:
            self.asked_at = find_traced_line() or find_user_place()
        self._watch([variable for variable in variables if is_trainable(variable)])

    def missed(self, variables: list[Any]) -> None:
        """These got no gradient: whether they change all the same is worth a look."""
        self._watched = [weakref.ref(variable) for variable in variables[:2] + variables[-1:]] + self._watched
        self._changing = 0

    def applied(self, optimizer: Any, grads: Any, variables: Any) -> None:
        if optimizer is not self._optimizer or not self.applied_to:
            self._optimizer_reference = weakref.ref(optimizer)
            given = variables if variables is not None else getattr(optimizer, "_trainable_variables", ())
            self.applied_to.update(id(variable) for variable in given)
            if self.applied_at is None:
                self.applied_at = find_traced_line() or find_user_place()

    def _watch(self, variables: list[Any]) -> None:
        ordered = sorted(variables, key=lambda variable: count_elements(variable) > SMALL)
        small = [variable for variable in ordered if count_elements(variable) <= SMALL] or ordered[:1]
        spread = small[:: max(1, len(small) // MAX_READ)]
        self._watched = (self._watched + [weakref.ref(variable) for variable in spread])[: 2 * MAX_READ]
        self._changing = 0

    # --- samples ---

    def step_ended(self, model: Any, done: int) -> None:
        if self._model is not None and not self._is_described:
            self._describe(self._model)
        if done < FIRST_AT_STEP or self._changing >= SAMPLES_WHILE_CHANGING:
            return
        now = time.monotonic()
        if now >= self._due:
            self._due = now + SAMPLE_EVERY_S
            self.probe.shield.within_budget("changes of weights", self._sample, done)

    def _sample(self, done: int) -> None:
        variables = [variable for variable in (reference() for reference in self._watched) if variable is not None]
        checksums = {id(variable): self._checksum(variable) for variable in variables}
        current = {key: value for key, value in checksums.items() if value is not None}
        new = [variable for variable in variables if id(variable) in current and id(variable) not in self._first]
        for variable in new:
            self._first[id(variable)] = current[id(variable)]
        if new or not current:
            return
        read = [variable for variable in variables if id(variable) in current]
        changed = [variable for variable in read if current[id(variable)] != self._first[id(variable)]]
        unchanged = [variable for variable in read if current[id(variable)] == self._first[id(variable)]]
        self._changing += bool(changed)
        rate = read_learning_rate(self._optimizer, self._read, ask_schedule=not changed and done >= ASK_SCHEDULE_AFTER)
        applied = [variable for variable in variables if id(variable) in self.applied_to]
        self.probe.emit(
            LoopSeen(
                at=time.time(),
                facts={
                    "kind": "weights",
                    "step": done,
                    "changed": [get_name(variable) for variable in changed],
                    "unchanged": [get_name(variable) for variable in unchanged],
                    "learning_rate": rate,
                    "learning_rate_at": self._rate_place() if rate == 0 else None,
                    "optimizers": self.optimizers,
                    "applied": bool(self.applied_to),
                    "applied_to_these": bool(applied),
                    "applied_at": self.applied_at,
                    "asked_at": self.asked_at,
                    "in_fit": self._model is not None,
                    "asked_in_fit": self._asked_in_fit,
                },
            )
        )

    def _rate_place(self) -> Optional[str]:
        if self.schedule_at is None:
            self.schedule_at = _schedule_place(self._optimizer)
        return self.schedule_at or self.optimizer_made_at

    def _checksum(self, variable: Any) -> Optional[int]:
        value = self._read(variable)
        return None if value is None else zlib.crc32(value.tobytes())

    def _read(self, variable: Any) -> Any:
        """The value as an array, or None if it cannot be read now."""
        numpy = sys.modules["numpy"]  # every framework has it loaded
        model = self._model
        state = getattr(model, "_jax_state", None)
        if state and not getattr(model, "_jax_state_synced", True):
            # Within an epoch Keras on JAX keeps the values beside the model.
            places = [(model.trainable_variables, "trainable_variables"), (model.optimizer.variables, "optimizer_variables")]
            pairs = [pair for own, key in places for pair in zip(own, state.get(key) or ())]  # noqa: B905 - of equal length
            return next((numpy.asarray(value) for own, value in pairs if own is variable), None)
        inner = getattr(variable, "_value", variable)
        if inner is None:
            return None
        if hasattr(inner, "detach"):
            return inner.detach().cpu().numpy()
        return inner.numpy() if hasattr(inner, "numpy") else numpy.asarray(inner)


def _layers(model: Any) -> list[Any]:
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten()) if callable(flatten) else list(getattr(model, "layers", ()))


def _loss_cut(model: Any) -> dict[str, Any]:
    """What in the user's own loss is known to have no gradient. Most losses are the framework's own, and are not read."""
    for loss in list_user_losses(model):
        place, what = gradient_cuts.find_cut_in_function(loss)
        if place is not None:
            return {"loss_cut_at": place, "loss_cut_by": what}
    return {}


def _is_weight(variable: Any) -> bool:
    return "seed_generator" not in get_name(variable)


def read_learning_rate(optimizer: Any, read: Callable[[Any], Any], ask_schedule: bool = False) -> Optional[float]:
    """The rate as it is now; None if it cannot be read. A schedule is code, perhaps the user's: asked only with a reason."""
    rate = find_rate(optimizer)
    if hasattr(rate, "assign"):
        return as_number(read(rate))
    if not callable(rate):
        return as_number(rate)
    inner = getattr(optimizer, "inner_optimizer", None) or optimizer
    steps = read(inner.iterations) if hasattr(rate, "get_config") and ask_schedule else None
    return None if steps is None else as_number(rate(int(steps)))


def _schedule_place(optimizer: Any) -> Optional[str]:
    """Where a schedule of the user's own computes the rate."""
    schedule = find_rate(optimizer)
    return find_return_place(type(schedule).__call__) if callable(schedule) and not hasattr(schedule, "assign") else None


def find_return_place(function: Any) -> Optional[str]:
    """The line of a function's only return, or that of its definition."""
    place = find_code_place(function)
    code = getattr(function, "__code__", None)
    if place is None or code is None:
        return place
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    for count in range(1, min(len(lines), 60) + 1):
        tree = parse_source(textwrap.dedent("".join(lines[:count])))
        if tree is None:
            continue
        returns = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
        if returns:
            return f"{code.co_filename}:{code.co_firstlineno + returns[0] - 1}"
    return place


def get_weights(probe: Probe) -> Weights:
    weights: Optional[Weights] = probe.extras.get("weights")
    if weights is None:
        loop = get_loop(probe)
        weights = probe.extras["weights"] = Weights(probe, loop)
        probe.on_fit.append(weights.fit_began)
        probe.on_step.append(weights.step_ended)
        loop.on_variables.append(weights.asked_for)
        loop.on_apply.append(weights.applied)
        loop.on_missing.append(weights.missed)
    return weights


def install_tape(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.backprop: the loop tells of the rest."""
    get_weights(probe)


def install_optimizers(module: ModuleType, probe: Probe) -> None:
    """keras.src.optimizers.base_optimizer"""
    wrap(module.BaseOptimizer, "__init__", _noting_optimizers(probe))


def install_keras_2_optimizers(module: ModuleType, probe: Probe) -> None:
    """optimizers.optimizer of Keras 2, where it was before that, and the optimizers that it had up to 2.10."""
    loop = get_loop(probe)
    owner = getattr(module, "OptimizerV2", None) or getattr(module, "Optimizer", None)
    wrap(owner, "__init__", _noting_optimizers(probe))

    def see(optimizer: Any, pairs: list[Any]) -> None:
        for look in loop.on_apply:
            look(optimizer, [pair[0] for pair in pairs], [pair[1] for pair in pairs])

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)  # often a zip, which can be read only once
            if probe.active:
                probe.shield.call("optimizers", see, optimizer, pairs)
            return original(optimizer, pairs, *args, **kwargs)

        return apply_gradients

    wrap(owner, "apply_gradients", make)


def _noting_optimizers(probe: Probe) -> Callable[[Callable[..., None]], Callable[..., None]]:
    weights = get_weights(probe)

    def made(optimizer: Any) -> None:
        place = find_user_place()
        if place is not None:
            weights.optimizer_made(optimizer, place)

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            if probe.active:
                probe.shield.call("optimizers", made, optimizer)

        return __init__

    return make


def install_scheduler(module: ModuleType, probe: Probe) -> None:
    """keras.src.callbacks.learning_rate_scheduler"""
    weights = get_weights(probe)

    def made(schedule: Any) -> None:
        weights.schedule_at = find_return_place(schedule)

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(callback: Any, schedule: Any, *args: Any, **kwargs: Any) -> None:
            original(callback, schedule, *args, **kwargs)
            if probe.active:
                probe.shield.call("optimizers", made, schedule)

        return __init__

    wrap(module.LearningRateScheduler, "__init__", make)


def install_layers(module: ModuleType, probe: Probe) -> None:
    """keras.src.layers.layer, or engine.base_layer of Keras 2: who freezes a layer, and where."""
    weights = get_weights(probe)
    owner = module.Layer
    plain = owner.__dict__.get("trainable")
    if not isinstance(plain, property) or plain.fset is None:
        return
    set_trainable = plain.fset

    def note(layer: Any, value: Any) -> None:
        if value:
            weights.frozen_at.pop(id(layer), None)
            return
        place = find_user_place()
        if place is not None and len(weights.frozen_at) < MAX_LAYERS:
            weights.frozen_at[id(layer)] = place

    @hide_own_frames
    def trainable(layer: Any, value: Any) -> None:
        set_trainable(layer, value)
        if probe.active:
            probe.shield.call("trainable", note, layer, value)

    owner.trainable = property(plain.fget, trainable, plain.fdel, plain.__doc__)
