"""A model as it is about to be trained, told once: its layers with the shapes of what they give, its optimizer, its losses.

It is what a later run is compared with. Only attributes of the framework's own objects are read; nothing is computed, and no
method of the user's is called. What cannot be told is left out.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

from unstall.journal.events import ModelRecorded
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.user_code import is_of_keras
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.model import description
from unstall.probe.model import layers as model_layers

MAX_LAYERS = 1000
MAX_COUNTED = 10_000
MAX_USES = 16  # of one layer, each with an output of its own
MAX_MODELS = 4  # that one program tells of
MAX_VARIABLES = 4000
NUMBERS = (
    "momentum", "nesterov", "weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "beta_1", "beta_2", "rho", "epsilon",
    "amsgrad", "centered", "use_ema", "ema_momentum", "gradient_accumulation_steps", "loss_scale_factor", "initial_scale",
)  # fmt: skip
SWITCHES = ("jit_compile", "run_eagerly", "steps_per_execution", "auto_scale_loss")


class ModelRecord:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._reported: list[tuple[int, int]] = []  # models with their optimizers
        self._own: Optional[dict[str, Any]] = None  # what is told of one's own loop

    def fit_began(self, model: Any) -> None:
        if model is not None and getattr(model, "built", True):
            self._probe.shield.within_budget("model record", self.report, model)

    def step_ended(self, model: Any, done: int) -> None:
        """A model that its first step has built."""
        if done == 1 and model is not None:
            self._probe.shield.within_budget("model record", self.report, model)

    def report(self, model: Any) -> None:
        key = (id(model), id(getattr(model, "optimizer", None)))
        if key in self._reported or len(self._reported) >= MAX_MODELS:
            return
        self._reported.append(key)
        found = list_leaves(model)
        layers = [describe_row(layer) for layer in found[:MAX_LAYERS]]
        left_out = len(found) - len(layers)
        self._probe.emit(ModelRecorded(at=time.time(), facts=describe_model(model), layers=layers, layers_left_out=left_out))

    # --- one's own loop ---

    def asked_for(self, variables: list[Any]) -> None:
        """Gradients for these are wanted: by them alone it is known what is trained. None of them is kept."""
        key = (id(variables[0]) if variables else 0, len(variables))
        if key in self._reported or len(self._reported) >= MAX_MODELS or not get_loop(self._probe).is_mine():
            return
        self._reported.append(key)
        some = list(variables)[:MAX_VARIABLES]
        count = count_elements(some)
        self._own = {"own_loop": True, "parameters": count, "trainable_parameters": count}
        self._probe.emit(ModelRecorded(at=time.time(), facts=self._own, layers=describe_variables(some)))

    def applied(self, optimizer: Any, gradients: Any, variables: Any) -> None:
        """The first update by this optimizer."""
        known = variables or getattr(optimizer, "_trainable_variables", None)
        if self._own is None and known:  # no tape has asked for gradients, as on PyTorch
            self.asked_for(list(known))
        key = (0, id(optimizer))
        if (
            self._own is None
            or key in self._reported
            or len(self._reported) >= 2 * MAX_MODELS
            or not get_loop(self._probe).is_mine()
        ):
            return
        self._reported.append(key)
        self._probe.emit(ModelRecorded(at=time.time(), facts={**self._own, "optimizer": describe_optimizer(optimizer)}))


def get_record(probe: Probe) -> ModelRecord:
    record: Optional[ModelRecord] = probe.extras.get("model record")
    if record is None:
        record = probe.extras["model record"] = ModelRecord(probe)
        probe.on_fit.append(record.fit_began)
        probe.on_step.append(record.step_ended)
        loop = get_loop(probe)
        loop.on_variables.append(record.asked_for)
        loop.on_apply.append(record.applied)
    return record


def install(module: Any, probe: Probe) -> None:
    """Right after a framework's module that trains has been imported."""
    get_record(probe)


def list_leaves(model: Any) -> list[Any]:
    """The layers that hold no others, in their order; those inside blocks of the user's own too."""
    found: list[Any] = []
    seen: set[int] = set()

    def add(layer: Any, depth: int) -> None:
        if id(layer) in seen or len(found) >= MAX_COUNTED or depth > model_layers.DEEPEST:
            return
        seen.add(id(layer))
        parts = _parts_of(layer)
        for part in parts:
            add(part, depth + 1)
        if not parts and type(layer).__name__ != "InputLayer":
            found.append(layer)

    add(model, 0)
    return found


def _parts_of(layer: Any) -> list[Any]:
    own = getattr(layer, "layers", None)
    if isinstance(own, (list, tuple)) and own:
        return list(own)
    flatten = getattr(layer, "_flatten_layers", None)
    return list(flatten(include_self=False, recursive=False)) if callable(flatten) else []


def describe_model(model: Any) -> dict[str, Any]:
    outputs = model_layers.list_outputs(model)
    switches = {name: _plain(getattr(model, name, None)) for name in SWITCHES}
    return {
        "model": type(model).__name__,
        "name": str(getattr(model, "name", "")),
        "parameters": count_elements(getattr(model, "weights", ())),
        "trainable_parameters": count_elements(getattr(model, "trainable_weights", ())),
        "inputs": _tensors(getattr(model, "inputs", None)),
        "outputs": _tensors(getattr(model, "outputs", None)),
        "policy": read_policy(model),
        "optimizer": describe_optimizer(getattr(model, "optimizer", None)),
        "losses": description.describe_losses(model, [output["name"] for output in outputs]),
        **{name: value for name, value in switches.items() if value is not None},
    }


def describe_row(layer: Any) -> list[Any]:
    """name, class, shapes of its outputs (one for each use), parameters, trainable ones, dtype that it computes in."""
    weights, trainable = getattr(layer, "weights", ()), getattr(layer, "trainable_weights", ())
    dtype = getattr(layer, "compute_dtype", None) or getattr(layer, "dtype", None)
    shapes = list_output_shapes(layer)
    return [
        str(getattr(layer, "name", "")),
        type(layer).__name__,
        shapes,
        count_elements(weights),
        count_elements(trainable),
        str(dtype or ""),
    ]


def list_output_shapes(layer: Any) -> list[list[Optional[int]]]:
    """Of each use in a graph that Keras knows; empty for layers that are only called."""
    shapes = []
    for node in (getattr(layer, "_inbound_nodes", None) or [])[:MAX_USES]:
        outputs = getattr(node, "output_tensors", None)
        if outputs is None:
            outputs = getattr(
                node, "outputs", None
            )  # of tf_keras: one tensor, which must not be asked whether it is true, or several
        for tensor in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
            shape = read_shape(tensor)
            if shape is not None:
                shapes.append(shape)
    return shapes[:MAX_USES]


def read_shape(tensor: Any) -> Optional[list[Optional[int]]]:
    shape = getattr(tensor, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return None
    sides = [getattr(side, "value", side) for side in tuple(shape)]  # TensorFlow 1 wraps each
    return [side if isinstance(side, int) else None for side in sides]


def _tensors(tensors: Any) -> list[list[Any]]:
    given = tensors if isinstance(tensors, (list, tuple)) else []
    named = [(str(getattr(each, "name", "")), read_shape(each), each) for each in given]
    return [[name, shape, read_dtype(each)] for name, shape, each in named if shape is not None]


def read_dtype(value: Any) -> str:
    dtype = getattr(value, "dtype", "")
    return str(getattr(dtype, "name", dtype)).replace("torch.", "")


def count_elements(variables: Any) -> int:
    total = 0
    for variable in variables or ():
        size = 1
        for side in read_shape(variable) or ():
            size *= side or 1
        total += size
    return total


def read_policy(model: Any) -> str:
    policy = getattr(model, "dtype_policy", None)
    if (
        type(model).__name__ in ("Sequential", "Functional") or policy is None
    ):  # these keep that of their making, often the default
        inner = [getattr(layer, "dtype_policy", None) for layer in model_layers.flatten_layers(model, MAX_LAYERS)]
        names = [str(getattr(each, "name", "")) for each in inner if each is not None]
        return max(sorted(set(names)), key=names.count) if names else ""
    return str(getattr(policy, "name", ""))


# --- the optimizer ---


def describe_optimizer(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    inner = getattr(given, "inner_optimizer", None) or getattr(given, "_optimizer", None) or given
    facts: dict[str, Any] = {"class": type(inner).__name__}
    if inner is not given:
        facts["around"] = type(given).__name__
        initial = _plain(getattr(given, "initial_scale", None))
        facts.update({} if initial is None else {"initial_scale": initial})
    rate = getattr(inner, "_learning_rate", None)
    if rate is None:
        rate = getattr(inner, "learning_rate", None)
    if callable(rate) and not hasattr(rate, "assign"):
        facts["schedule"] = {"class": type(rate).__name__, **_schedule(rate)}
    else:
        facts["learning_rate"] = _read(rate)
    for name in NUMBERS:
        value = _plain(getattr(inner, name, None))
        if value is not None:
            facts[name] = value
    unread = [name for name in NUMBERS if name not in facts and getattr(inner, name, None) is not None]
    if rate is not None and "schedule" not in facts and facts["learning_rate"] is None:
        unread.append("learning_rate")
    if unread:  # variables of a graph, as in TensorFlow 1: only a session knows their values
        facts["unread"] = unread
    return facts


def _read(rate: Any) -> Optional[float]:
    """A variable's value; while a step is traced, outside of its graph, to which nothing is added."""
    tf = sys.modules.get("tensorflow")
    if tf is None or isinstance(rate, (int, float)) or tf.executing_eagerly():
        return _short(as_number(rate))
    try:
        with tf.init_scope():
            return _short(as_number(rate))
    except (RuntimeError, ValueError, AttributeError, tf.errors.OpError):
        return None  # it is made in this very trace


def _short(value: Optional[float]) -> Optional[float]:
    """As it was written: a variable of 32 bits holds 0.009999999776 for 0.01."""
    return None if value is None else float(f"{value:.7g}")


def _schedule(rate: Any) -> dict[str, Any]:
    """The numbers of one of Keras's own; of the user's own nothing is called."""
    if not is_of_keras(type(rate)):
        return {}
    config = rate.get_config()
    return {
        name: value for name, value in config.items() if isinstance(value, (int, float, bool, list)) and len(str(value)) < 200
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return as_number(value)


# --- variables of one's own loop ---


def describe_variables(variables: list[Any]) -> list[list[Any]]:
    """Rows as of layers, by the names of variables: 'conv1/kernel' is of 'conv1'."""
    rows: dict[str, list[Any]] = {}
    for variable in variables:
        name = str(getattr(variable, "path", None) or getattr(variable, "name", ""))
        layer = name.rpartition("/")[0] or name
        count = count_elements([variable])
        if layer not in rows and len(rows) >= MAX_LAYERS:
            continue
        known = rows.setdefault(layer, [layer, "", [], 0, 0, read_dtype(variable)])
        known[3] += count
        known[4] += count
    return list(rows.values())
