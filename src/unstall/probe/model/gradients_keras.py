"""Gradients that are missing in Keras on PyTorch and on JAX.

PyTorch gives None, as TensorFlow does. Then the layers are watched for one step: one whose output carries no gradient though
its input, or its own weights, did is where it was lost. JAX gives zeros that are constants of the compiled step; whether the
loss depends on such a variable is seen from the other gradients: those of the layers after it are computed from its value.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import unwrap, wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_user_place, is_user_code
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.model import gradient_cuts
from unstall.probe.model.gradients import create_missing_event, is_trainable

MAX_TRACERS = 500_000
MAX_OPTIMIZERS = 20
EACH_UP_TO = 12  # steps of a fit that are looked at one by one: what is missing is missing from the start
LATER_EVERY = 16


def install(module: ModuleType, probe: Probe) -> None:
    """keras.src.optimizers.base_optimizer"""
    loop = get_loop(probe)
    torch_watch, jax_watch = TorchGradients(probe, loop), JaxGradients(probe, loop)

    def is_due() -> bool:
        done = probe.train.done
        is_sampled = probe.fit_depth > 0 and not loop.is_open and done > EACH_UP_TO and not torch_watch.is_looking
        return not is_sampled or done % LATER_EVERY == 0

    def make_apply(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if probe.active and is_due():
                for see in loop.on_apply:
                    probe.shield.call("optimizers", see, optimizer, grads, trainable_variables)
                if _backend() == "torch":
                    probe.shield.call("gradients", torch_watch.applied, optimizer, grads, trainable_variables)
            return original(optimizer, grads, trainable_variables)

        return apply

    def make_stateless(original: Callable[..., Any]) -> Callable[..., Any]:
        def stateless_apply(optimizer: Any, optimizer_variables: Any, grads: Any, trainable_variables: Any) -> Any:
            if probe.active and _backend() == "jax":
                probe.shield.call("gradients", jax_watch.applied, optimizer, grads, trainable_variables)
            return original(optimizer, optimizer_variables, grads, trainable_variables)

        return stateless_apply

    wrap(module.BaseOptimizer, "apply", make_apply)
    wrap(module.BaseOptimizer, "stateless_apply", make_stateless)


def _backend() -> str:
    config = sys.modules.get("keras.src.backend.config")
    return str(config.backend()) if config is not None else ""


# --- PyTorch ---


class TorchGradients:
    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self._probe = probe
        self._loop = loop
        self._seen: dict[int, Optional[LayerWatch]] = {}  # optimizers with missing gradients, None: told already
        self.is_looking = False  # at the layers, until the next step

    def applied(self, optimizer: Any, grads: Any, variables: Any) -> None:
        began = time.monotonic()
        if self._probe.fit_depth == 0 or self._loop.is_open:
            self._loop.trained(find_user_place(), began, lambda: None, "torch")
        grads = list(grads)
        variables = list(variables if variables is not None else getattr(optimizer, "_trainable_variables", ()))
        self._loop.asked_for(variables)
        key = id(optimizer)
        watch = self._seen.get(key)
        if watch is not None:
            self._seen[key] = None
            self.is_looking = False
            watch.stop()
            self._report(grads, variables, watch)
        elif key not in self._seen and len(self._seen) < MAX_OPTIMIZERS and any(gradient is None for gradient in grads):
            layers = sys.modules.get("keras.src.layers.layer")
            if layers is not None and not all(gradient is None for gradient in grads):
                self._seen[key] = LayerWatch(layers.Layer, self._probe)
                self.is_looking = True
            else:
                self._seen[key] = None
                self._report(grads, variables, None)

    def _report(self, grads: list[Any], variables: list[Any], watch: Optional[LayerWatch]) -> None:
        if len(grads) != len(variables):
            return
        pairs = zip(variables, grads)  # noqa: B905 - of equal length
        missing = [variable for variable, gradient in pairs if gradient is None and is_trainable(variable)]
        if not missing:
            return
        self._loop.missed(missing)
        feeding: Optional[list[Any]] = None
        cut_at, cut_by = None, ""
        if watch is not None:
            ran = watch.variables
            feeding = [variable for variable in missing if id(variable) in ran] if watch.cut_by else []
            cut_at, cut_by = watch.cut_at, watch.cut_by
        self._probe.emit(create_missing_event(self._probe, missing, variables, find_user_place(), feeding, cut_at, cut_by))


class LayerWatch:
    """Follows the layers' outputs through one step, from now until `stop`."""

    def __init__(self, layer_class: type, probe: Probe) -> None:
        self.variables: set[int] = set()
        self.cut_at: Optional[str] = None
        self.cut_by = ""
        self._class = layer_class
        self._carriers: dict[int, tuple[str, int]] = {}  # memory of outputs that carry a gradient: the user's line of the call
        call = probe.shield.call

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
                call("layers", self._entered, args)
                result = original(layer, *args, **kwargs)
                call("layers", self._left, layer, args, result)
                return result

            return __call__

        wrap(layer_class, "__call__", make)

    def stop(self) -> None:
        unwrap(self._class, "__call__")

    def _entered(self, args: Any) -> None:
        """Something that carried a gradient when a layer gave it comes in without: it was lost between the two."""
        if self.cut_by:
            return
        for tensor in _tensors(args):
            made = self._carriers.get(tensor.data_ptr())
            if made is not None and not tensor.requires_grad:
                frame = sys._getframe(1)
                while frame.f_back is not None and not is_user_code(frame.f_code):
                    frame = frame.f_back
                first = made[1] if made[0] == frame.f_code.co_filename else frame.f_code.co_firstlineno
                self.cut_at, self.cut_by = gradient_cuts.find_cut_between(
                    frame.f_code.co_filename, min(first, frame.f_lineno), frame.f_lineno
                )
                self.cut_at = self.cut_at or f"{frame.f_code.co_filename}:{frame.f_lineno}"
                self.cut_by = self.cut_by or "detach()"

    def _left(self, layer: Any, args: Any, result: Any) -> None:
        own = list(getattr(layer, "trainable_variables", ()))
        self.variables.update(id(variable) for variable in own)
        outputs = _tensors(result)
        carried = any(tensor.requires_grad for tensor in _tensors(args)) or bool(own)
        if (
            carried
            and outputs
            and not any(tensor.requires_grad for tensor in outputs)
            and not self.cut_by
            and _gradients_are_on()
        ):
            self.cut_at, self.cut_by = gradient_cuts.find_cut_in_function(type(layer).call)
            self.cut_at = self.cut_at or gradient_cuts.find_place(type(layer).call)
            self.cut_by = self.cut_by or type(layer).__name__
        place = find_user_place() or ":0"
        file, _, line = place.rpartition(":")
        for tensor in outputs:
            if tensor.requires_grad:
                self._carriers[tensor.data_ptr()] = (file, int(line))


def _gradients_are_on() -> bool:
    torch = sys.modules.get("torch")
    return bool(torch is not None and torch.is_grad_enabled())


def _tensors(value: Any) -> list[Any]:
    """The floating-point tensors in it."""
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in _tensors(part)]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    is_float = getattr(value, "is_floating_point", None)
    return [value] if callable(is_float) and hasattr(value, "data_ptr") and is_float() else []


# --- JAX ---


class JaxGradients:
    """Looks while the step is compiled, so it costs nothing later."""

    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self._probe = probe
        self._loop = loop
        self._seen: set[int] = set()
        probe.on_fit.append(self._fit_begins)
        self._model: Any = None  # a weak reference

    def _fit_begins(self, model: Any) -> None:
        self._model = None if model is None else weakref.ref(model)

    def applied(self, optimizer: Any, grads: Any, values: Any) -> None:
        if grads and type(grads[0]).__name__ == "ArrayImpl":
            for see in self._loop.on_eager_step:
                see(None)  # arrays, not tracers: this step is not compiled
        if id(optimizer) in self._seen or len(self._seen) >= MAX_OPTIMIZERS:
            return
        self._seen.add(id(optimizer))
        variables = list(getattr(optimizer, "_trainable_variables", ()))
        grads, values = list(grads), list(values)
        if not len(variables) == len(grads) == len(values):
            return
        zero = [_is_constant_zero(gradient) for gradient in grads]
        if not any(zero):
            return
        depends = _behind(gradient for gradient, is_zero in zip(grads, zero) if not is_zero)  # noqa: B905
        triples = list(zip(variables, values, zero))  # noqa: B905 - of equal length
        missing = [variable for variable, _, is_zero in triples if is_zero]
        feeding: Optional[list[Any]] = [variable for variable, value, is_zero in triples if is_zero and id(value) in depends]
        if all(zero):
            feeding = None
        self._loop.missed(missing)
        cut_at, cut_by = self._read_sources() if feeding is None or feeding else (None, "")
        self._probe.emit(create_missing_event(self._probe, missing, variables, find_user_place(), feeding, cut_at, cut_by))

    def _read_sources(self) -> tuple[Optional[str], str]:
        """The user's own code that runs in a step: losses, layers, the model's own methods."""
        model = None if self._model is None else self._model()
        functions = list_user_losses(model)
        flatten = getattr(model, "_flatten_layers", None)
        for layer in flatten() if callable(flatten) else ():
            functions += [getattr(type(layer), name, None) for name in ("call", "train_step", "compute_loss")]
        for function in functions:
            cut_at, cut_by = gradient_cuts.find_cut_in_function(function) if function is not None else (None, "")
            if cut_at:
                return cut_at, cut_by
        return None, ""


def list_user_losses(model: Any) -> list[Any]:
    """The functions that compute the loss that compile was given."""
    given = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    flat = given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else [given]
    return [loss if hasattr(loss, "__code__") else getattr(type(loss), "call", None) for loss in flat if loss is not None]


def _is_constant_zero(tracer: Any) -> bool:
    equation = getattr(tracer, "parent", None)
    if str(getattr(equation, "primitive", "")) != "broadcast_in_dim":
        return False
    inputs = list(getattr(equation, "in_tracers", ()))
    constant = getattr(inputs[0], "val", None) if inputs else None
    value = getattr(constant, "val", None)  # of a Literal
    try:
        return value is not None and float(value) == 0.0
    except (TypeError, ValueError):
        return False


def _behind(tracers: Iterable[Any]) -> set[int]:
    """Ids of all tracers that these are computed from."""
    seen: set[int] = set()
    waiting = list(tracers)
    while waiting and len(seen) < MAX_TRACERS:
        tracer = waiting.pop()
        if id(tracer) in seen:
            continue
        seen.add(id(tracer))
        waiting.extend(getattr(getattr(tracer, "parent", None), "in_tracers", ()))
    return seen
