"""What a model is made of, read once when its fit begins: layers, activations, outputs, losses and the optimizer.

Nothing is computed and no method of the user's is called: only attributes of the framework's own objects are read. What
cannot be told (a model class of one's own may do anything in `call`) is left out rather than guessed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen, ModelDescribed
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.core.user_code import find_code_place, find_user_place, is_of_keras
from unstall.probe.model import layers, learning_rate, unsafe_math

_PLACES = "compiled at"
MAX_MODELS = 50
_PLAIN_NAMES = {
    "mse": "meansquarederror",
    "mae": "meanabsoluteerror",
    "mape": "meanabsolutepercentageerror",
    "msle": "meansquaredlogarithmicerror",
    "bce": "binarycrossentropy",
    "kld": "kldivergence",
    "kullbackleiblerdivergence": "kldivergence",
}


def install_keras_2(module: ModuleType, probe: Probe) -> None:
    """engine.training of Keras 2: where compile was called. (For Keras 3 `eager` notes it: it wraps compile already.)"""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
            if probe.active:
                probe.shield.call("compile", note_compile, probe, model, find_user_place())
            return original(model, *args, **kwargs)

        return compile

    wrap(module.Model, "compile", make)
    describe_fits(probe)


def note_compile(probe: Probe, model: Any, place: Optional[str]) -> None:
    places = probe.extras.setdefault(_PLACES, {})
    if place is not None and len(places) < MAX_MODELS:
        places[id(model)] = place
        probe.emit(LoopSeen(at=time.time(), facts={"kind": "compiled", "where": place}))


def describe_fits(probe: Probe) -> None:
    """Describes each model whose fit begins, from now on."""

    known: dict[tuple[int, int], dict[str, Any]] = {}  # a model may be fitted many times

    def describe_model(model: Any) -> None:
        if model is not None and getattr(model, "built", True):
            report(model)

    def describe_late(model: Any, done: int) -> None:
        """A model that is built by its first step."""
        if done == 1 and model is not None and not any(key[0] == id(model) for key in known):
            report(model)

    def report(model: Any) -> None:
        key = (id(model), id(getattr(model, "optimizer", None)))
        if key not in known:
            known.clear()
            known[key] = describe(model, probe.extras.get(_PLACES, {}).get(id(model)))
            known[key]["optimizer_at"] = find_optimizer_line(probe)
        probe.emit(ModelDescribed(at=time.time(), facts=known[key]))

    if not probe.extras.get("describes models"):
        probe.extras["describes models"] = True
        probe.on_fit.append(describe_model)
        probe.on_step.append(describe_late)


def describe(model: Any, compiled_at: Optional[str] = None) -> dict[str, Any]:
    outputs = layers.list_outputs(model)
    losses = describe_losses(model, [output["name"] for output in outputs])
    return {
        "model": type(model).__name__,
        "compiled_at": compiled_at,
        "entry": layers.find_entry(model),
        "layers": layers.list_weighted_layers(model),
        "normalised": layers.has_normalisation(model),
        "outputs": outputs,
        "losses": losses,
        "own_step": _is_own_step(model),
        "penalties": bool(_penalties(model)),
        "risky": [place for loss in _user_losses(model) for place in unsafe_math.find_in_function(loss)],
        **describe_optimizer(getattr(model, "optimizer", None)),
    }


def describe_loop(probe: Probe, given: Any, asked_at: Optional[str], applied_at: Optional[str]) -> dict[str, Any]:
    """What is known of one's own loop: its optimizer, and the lines around its gradients."""
    return {
        "own_loop": True,
        "asked_at": asked_at,
        "applied_at": applied_at,
        "risky": unsafe_math.find_around(asked_at),
        "optimizer_at": find_optimizer_line(probe),
        **describe_optimizer(given),
    }


def find_optimizer_line(probe: Probe) -> Optional[str]:
    """The user's line that made the newest optimizer."""
    place: Optional[str] = getattr(probe.extras.get("weights"), "optimizer_made_at", None)
    return place


def _penalties(model: Any) -> int:
    """How many layers add to the loss by a regularizer."""
    names = ("kernel_regularizer", "bias_regularizer", "activity_regularizer", "embeddings_regularizer")
    return sum(1 for layer in layers.flatten_layers(model) if any(getattr(layer, name, None) is not None for name in names))


def _is_own_step(model: Any) -> bool:
    """Whether the user's own class computes the step or the loss."""
    for kind in type(model).__mro__:
        if is_of_keras(kind) or kind.__module__.split(".")[0] in ("keras_hub", "keras_cv", "keras_nlp"):
            return False
        if any(name in kind.__dict__ for name in ("train_step", "compute_loss", "compute_loss_and_updates", "train_function")):
            return True
    return False


# --- losses ---


def describe_losses(model: Any, names: list[str]) -> list[dict[str, Any]]:
    """One for each output, in the order of the outputs; fewer where that cannot be told."""
    given = _given(model)
    if given is None:
        return []
    if isinstance(given, dict):
        return [describe_loss(given.get(name)) for name in names] if names and all(name in names for name in given) else []
    if isinstance(given, (list, tuple)):
        return [describe_loss(loss) for loss in given]
    return [describe_loss(given)] * max(1, len(names))


def _given(model: Any) -> Any:
    compiled = getattr(model, "_compile_loss", None) or getattr(model, "compiled_loss", None)
    given = getattr(compiled, "_user_loss", None)
    return given if given is not None else getattr(model, "loss", None)


def describe_loss(given: Any) -> dict[str, Any]:
    """name: as Keras's classes are called, in small letters; empty for one of the user's own."""
    if given is None:
        return {"name": "none"}
    if isinstance(given, str):
        return {"name": _plain_name(given), "from_logits": False}
    kind = given if hasattr(given, "__code__") else type(given)
    name = _plain_name(getattr(kind, "__name__", ""))
    if not is_of_keras(kind):
        function = given if hasattr(given, "__code__") else getattr(kind, "call", None)
        return {"name": "", "own": getattr(kind, "__name__", ""), "where": find_code_place(function)}
    options = dict(getattr(given, "_fn_kwargs", None) or {})
    if name == "lossfunctionwrapper":
        function = getattr(given, "fn", None)
        place = find_code_place(function)
        if place is not None:
            return {"name": "", "own": getattr(function, "__name__", ""), "where": place}
        name = _plain_name(getattr(function, "__name__", ""))
    return {
        "name": name,
        "from_logits": bool(options.get("from_logits", getattr(given, "from_logits", False))),
        "ignore_class": as_number(options.get("ignore_class", getattr(given, "ignore_class", None))),
        "label_smoothing": as_number(options.get("label_smoothing", getattr(given, "label_smoothing", None))) or 0.0,
    }


def _plain_name(name: str) -> str:
    plain = name.replace("_", "").lower()
    return _PLAIN_NAMES.get(plain, plain)


def _user_losses(model: Any) -> list[Any]:
    """Functions of the user's own that compute the loss, or a part of it."""
    given = _given(model)
    flat = list(given.values()) if isinstance(given, dict) else list(given) if isinstance(given, (list, tuple)) else [given]
    functions = [loss if hasattr(loss, "__code__") else getattr(type(loss), "call", None) for loss in flat if loss is not None]
    if _is_own_step(model):
        functions += [getattr(type(model), name, None) for name in ("compute_loss", "train_step")]
    own_layers = [layer for layer in layers.flatten_layers(model) if not is_of_keras(type(layer))]
    functions += [getattr(type(layer), "call", None) for layer in own_layers[:20]]
    return [function for function in functions if find_code_place(function) is not None]


# --- the optimizer ---


def describe_optimizer(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    inner = getattr(given, "inner_optimizer", None) or getattr(given, "_optimizer", None) or given
    rate = learning_rate.find_rate(inner)
    schedule = rate if rate is not None and callable(rate) and not hasattr(rate, "assign") else None
    return {
        "optimizer": type(inner).__name__,
        "clipped": any(
            as_number(getattr(inner, name, None)) is not None for name in ("clipnorm", "clipvalue", "global_clipnorm")
        ),
        "momentum": as_number(learning_rate.find_setting(inner, "momentum")) or 0.0,
        "weight_decay": as_number(getattr(inner, "weight_decay", None)) or 0.0,
        "loss_scaled": inner is not given,
        "schedule": type(schedule).__name__ if schedule is not None else None,
    }
