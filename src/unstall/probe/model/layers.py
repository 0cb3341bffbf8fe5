"""The layers of a Keras model in order: what its inputs meet first, what has weights, what its outputs end in.

Only for models whose graph Keras knows (Sequential, functional). Of a model class of one's own it knows the parts, not
how they are used.
"""

from __future__ import annotations

from typing import Any, Optional

from unstall.probe.core.user_code import is_of_keras

MAX_LAYERS = 400
MAX_REPORTED = 64
DEEPEST = 12
_PASSING = frozenset({
    "Reshape", "Flatten", "Identity", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "Permute", "Cast",
    "Cropping2D", "UpSampling1D", "UpSampling2D", "RepeatVector", "ActivityRegularization", "Squeeze", "ExpandDims",
})  # fmt: skip
_NORMALISING = ("BatchNormalization", "LayerNormalization", "GroupNormalization", "UnitNormalization", "SyncBatchNormalization",
                "RMSNormalization")  # fmt: skip
_ACTIVATIONS = {
    "sigmoid": "sigmoid", "softmax": "softmax", "logsoftmax": "log_softmax", "relu": "relu", "relu6": "relu6", "tanh": "tanh",
    "leakyrelu": "leaky_relu", "elu": "elu", "selu": "selu", "gelu": "gelu", "silu": "silu", "softplus": "softplus",
    "prelu": "prelu", "hardsigmoid": "hard_sigmoid", "thresholdedrelu": "relu",
}  # fmt: skip


def flatten_layers(model: Any, most: int = MAX_LAYERS, operations: bool = False) -> list[Any]:
    """All layers, those of models inside the model too, in the order of their use where Keras knows it. With the operations
    between them (`inputs / 255`), which are no layers, if asked for."""
    found: list[Any] = []

    def add(layer: Any, depth: int) -> None:
        if len(found) >= most or depth > DEEPEST:
            return
        inner = (getattr(layer, "operations", None) if operations else None) or getattr(layer, "layers", None)
        if inner and isinstance(inner, (list, tuple)):
            for part in inner:
                add(part, depth + 1)
            return
        wrapped = getattr(layer, "layer", None)
        found.append(wrapped if wrapped is not None and hasattr(wrapped, "weights") else layer)

    add(model, 0)
    return found


def is_ordered(model: Any) -> bool:
    """Whether the order of the layers is that of their use."""
    if type(model).__name__ == "Sequential":
        return all(is_ordered(layer) for layer in model.layers if _is_model(layer))
    known = type(model).__name__ == "Functional" or bool(getattr(model, "_is_graph_network", False))
    return known and all(is_ordered(layer) for layer in model.layers if _is_model(layer))


def _is_model(layer: Any) -> bool:
    return isinstance(getattr(layer, "layers", None), (list, tuple))


def has_normalisation(model: Any) -> bool:
    return any(type(layer).__name__ in _NORMALISING for layer in flatten_layers(model))


def find_entry(model: Any) -> Optional[list[str]]:
    """The classes of what an input passes up to the first layer that has weights to train; None where not known."""
    if not is_ordered(model) or len(getattr(model, "inputs", None) or [0]) != 1:
        return None
    passed: list[str] = []
    for layer in flatten_layers(model, operations=True):
        name = type(layer).__name__
        if name == "InputLayer":
            continue
        own = not is_of_keras(type(layer))
        passed.append("" if own else name)
        if own or getattr(layer, "weights", None):
            break
    return passed


def list_weighted_layers(model: Any) -> list[dict[str, Any]]:
    """The layers with weights to train, in order: name, class, activation (their own, or that of a layer right after)."""
    layers = flatten_layers(model)
    rows = []
    for index, layer in enumerate(layers):
        if not getattr(layer, "trainable_weights", None):
            continue
        activation = get_activation(layer)
        if activation in (None, "linear") and is_ordered(model):
            activation = _activation_after(layers[index + 1 : index + 4]) or activation
        rows.append({"name": layer.name, "class": type(layer).__name__, "activation": activation})
    return _spread(rows)


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of them, or as many from the start as from the end."""
    return rows if len(rows) <= MAX_REPORTED else rows[: MAX_REPORTED // 2] + rows[-MAX_REPORTED // 2 :]


def _activation_after(layers: list[Any]) -> Optional[str]:
    for layer in layers:
        if type(layer).__name__ in _NORMALISING or type(layer).__name__ in _PASSING:
            continue
        return None if getattr(layer, "kernel", None) is not None else get_activation(layer)
    return None


def get_activation(layer: Any) -> Optional[str]:
    """The name of a layer's activation; 'linear' for none; None if it cannot be told."""
    name = type(layer).__name__.lower()
    if name in _ACTIVATIONS:
        return _ACTIVATIONS[name]
    given = getattr(layer, "activation", None)
    if given is None:
        return "linear" if hasattr(layer, "kernel") else None
    plain = getattr(given, "__name__", None) or type(given).__name__
    if str(getattr(given, "__module__", "")).split(".")[0] not in ("keras", "tf_keras", "tensorflow", "jax"):
        return None
    return _ACTIVATIONS.get(plain.replace("_", "").lower(), plain.lower())


# --- outputs ---


def list_outputs(model: Any) -> list[dict[str, Any]]:
    """name, units, activation (None: cannot be told) of each output; empty for models whose graph is not known."""
    if not is_ordered(model):
        return []
    names = list(getattr(model, "output_names", None) or [])
    tensors = list(getattr(model, "outputs", None) or [])
    rows = []
    for index, tensor in enumerate(tensors):
        shape = tuple(getattr(tensor, "shape", ()) or ())
        units = shape[-1] if shape and isinstance(shape[-1], int) else None
        activation, axis = _ends_in(tensor, 0)
        name = names[index] if index < len(names) else ""
        rows.append({"name": name, "units": units, "rank": len(shape), "activation": activation, "axis": axis})
    return rows


def _ends_in(tensor: Any, depth: int) -> tuple[Optional[str], Optional[int]]:
    """(activation, axis of a softmax) of the operation that gives a tensor, through those that only pass values on."""
    history = getattr(tensor, "_keras_history", None)
    if history is None or depth > DEEPEST:
        return None, None
    operation = getattr(history, "operation", None) or getattr(history, "layer", None)
    if _is_model(operation):
        index = int(getattr(history, "tensor_index", 0) or 0)
        inner = list(getattr(operation, "outputs", None) or [])
        return _ends_in(inner[index], depth + 1) if index < len(inner) else (None, None)
    if type(operation).__name__ in _PASSING:
        before = _producer(operation, history)
        return _ends_in(before, depth + 1) if before is not None else (None, None)
    axis = getattr(operation, "axis", -1)
    return get_activation(operation), axis if isinstance(axis, int) else None


def _producer(operation: Any, history: Any) -> Any:
    nodes = getattr(operation, "_inbound_nodes", None) or []
    index = int(getattr(history, "node_index", 0) or 0)
    if index >= len(nodes):
        return None
    node = nodes[index]
    tensors = getattr(node, "input_tensors", None) or getattr(node, "keras_inputs", None) or []
    flat_tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    return flat_tensors[0] if len(flat_tensors) == 1 else None
